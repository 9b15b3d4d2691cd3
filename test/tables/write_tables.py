"""Writes the Parquet files of this folder as pandas, pyarrow and polars do, for the tests of src/ingest/parquet.

Run it with pyarrow, pandas and polars installed: python write_tables.py. The tests read the committed files.
"""

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = os.path.dirname(os.path.abspath(__file__))
DAYS = pd.bdate_range("2020-01-02", periods=40)
TICKERS = ["MSFT", "AAPL", "É", "BRK.B"]


def path(name):
    return os.path.join(FOLDER, f"{name}.parquet")


def frame(seed=1):
    """Long rows in a mixed order, with nulls and infinite values."""
    random = np.random.default_rng(seed)
    rows = [(ticker, day) for day in DAYS for ticker in TICKERS if random.random() > 0.1]
    random.shuffle(rows)
    n = len(rows)
    table = pd.DataFrame(
        {
            "ticker": [ticker for ticker, _ in rows],
            "date": [day for _, day in rows],
            "mom_5": random.normal(0, 0.02, n),
            "vol_20": random.normal(0, 0.02, n).astype("float32"),
            "rank": random.integers(-5, 6, n),
            "count": random.integers(0, 2**32, n).astype("uint32"),
        }
    )
    table.loc[random.random(n) < 0.2, "mom_5"] = np.nan
    table.loc[random.random(n) < 0.05, "vol_20"] = np.inf
    return table


def write(name, table, **options):
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path(name), **options)


table = frame()
# pandas with its defaults, and with indexes.
table.to_parquet(path("pandas"), index=False)
table.set_index("date").to_parquet(path("pandas-date-index"))
unnamed = table.set_index("date")
unnamed.index.name = None
unnamed.to_parquet(path("pandas-unnamed-index"), compression="gzip")
table[table["rank"] > -3].to_parquet(path("pandas-row-labels"))
table.assign(ticker=table["ticker"].astype("category")).to_parquet(path("pandas-category"), compression="zstd")
prices = table.pivot(index="date", columns="ticker", values="mom_5").abs() + 10
prices.attrs["Learning_end"] = "2020-02-10"
prices.to_parquet(path("pandas-wide-prices"))

# Encodings of pyarrow, pages of both versions, and several row groups.
names = list(table.columns)
plain = {"use_dictionary": False, "row_group_size": 37, "write_page_checksum": True}
write("plain-v1", table, compression="none", **plain)
write("plain-v2", table, compression="snappy", data_page_version="2.0", **plain)
write("dictionary-v2", table, compression="zstd", data_page_version="2.0", row_group_size=50)
write("small-pages", table, compression="snappy", data_page_size=64, write_batch_size=8, dictionary_pagesize_limit=64)
deltas = {name: "DELTA_BINARY_PACKED" for name in ["date", "rank", "count"]}
floats = {"mom_5": "BYTE_STREAM_SPLIT", "vol_20": "BYTE_STREAM_SPLIT"}
for strings in ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]:
    encodings = {**deltas, **floats, "ticker": strings}
    write(strings.lower().replace("_", "-"), table, use_dictionary=False, column_encoding=encodings)
split = {"rank": "BYTE_STREAM_SPLIT", "count": "BYTE_STREAM_SPLIT"}
write("split-integers", table, use_dictionary=False, column_encoding=split)

# Types of dates.
for unit in ["ms", "us", "ns"]:
    for zone in [None, "UTC"]:
        dated = pa.Table.from_pandas(table[["ticker", "date", "mom_5"]], preserve_index=False)
        times = dated.column("date").cast(pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
        pq.write_table(dated.set_column(1, "date", times), path(f"timestamp-{unit}{'-utc' if zone else ''}"))
dated = dated.set_column(1, "date", pa.array(table["date"].dt.date, pa.date32()))
pq.write_table(dated, path("date32"))
pq.write_table(dated.set_column(1, "date", pa.array(table["date"].dt.strftime("%Y-%m-%d"))), path("date-text"))
pq.write_table(dated.set_column(1, "date", pa.array(table["date"].astype("int64") // 1000)), path("date-epoch"))

# polars.
pl.from_pandas(table.assign(date=table["date"].dt.date)).write_parquet(
    path("polars"), row_group_size=45, metadata={"Learning_end": "2020-02-10", "start": "2020-01-10"}
)
