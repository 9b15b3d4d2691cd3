"""Writes the Parquet files of this folder as the usual programs do, and expected.json with what pandas reads from each.

Run it with duckdb, fastparquet, pandas, polars and pyarrow installed: python write_tables.py. src/ingest/corpus.test.ts reads the
committed files.
"""

import json
import os
from decimal import Decimal

import duckdb
import fastparquet
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = os.path.dirname(os.path.abspath(__file__))
DAYS = pd.bdate_range("2020-01-02", periods=12)
TICKERS = ["MSFT", "AAPL", "É", "BRK.B"]
WINDOW = {"start": "2020-01-03", "Learning_end": "2020-01-15"}

# Rows of each content, as text: ticker, date, values. Then the kind and content of each file, its window, or its error.
contents: dict[str, list[str]] = {}
files: dict[str, dict] = {}


def path(name):
    return os.path.join(FOLDER, f"{name}.parquet")


def rows_of(table):
    """A long table as lines, missing and infinite values empty."""
    values = [column for column in table.columns if column not in ("ticker", "date")]

    def cell(value):
        return "" if pd.isna(value) or np.isinf(float(value)) else repr(float(value))

    records = sorted(table.to_dict("records"), key=lambda row: (str(row["ticker"]), row["date"]))
    lines = [[str(row["ticker"]), str(row["date"])[:10], *(cell(row[name]) for name in values)] for row in records]
    return [",".join(["ticker", "date", *values]), *(",".join(line) for line in lines)]


def expect(name, content, table, kind="features", **more):
    """Notes what a file has. @param table what pandas reads from it, as a long table."""
    rows = rows_of(table)
    assert contents.setdefault(content, rows) == rows, f"{name} is not {content}"
    files[name] = {"kind": kind, "content": content, **more}


def read(name):
    table = pd.read_parquet(path(name)).reset_index()
    table = table.rename(columns={"index": "date"}) if "date" not in table else table
    columns = [column for column in table.columns if column != "index"]
    return table[["ticker", "date", *(column for column in columns if column not in ("ticker", "date"))]]


def long(prices):
    """A table of prices with a column per ticker as a long table."""
    prices = prices.rename_axis(index="date", columns="ticker")
    return prices.stack(future_stack=True).rename("price").reset_index()[["ticker", "date", "price"]]


random = np.random.default_rng(1)
pairs = [(ticker, day) for day in DAYS for ticker in TICKERS if random.random() > 0.1]
random.shuffle(pairs)
n = len(pairs)
table = pd.DataFrame(
    {
        "ticker": [ticker for ticker, _ in pairs],
        "date": [day for _, day in pairs],
        "mom_5": random.normal(0, 0.02, n),
        "vol_20": random.normal(0, 0.02, n).astype("float32"),
        "rank": random.integers(-5, 6, n),
        "count": random.integers(0, 2**32, n).astype("uint32"),
    }
)
table.loc[random.random(n) < 0.2, "mom_5"] = np.nan
table.loc[random.random(n) < 0.05, "vol_20"] = np.inf
dated = table[["ticker", "date", "mom_5"]]
arrow = pa.Table.from_pandas(table, preserve_index=False)

# pandas with its defaults, and with indexes.
for name, frame, options in [
    ("pandas", table, {"index": False}),
    ("pandas-date-index", table.set_index("date"), {}),
    ("pandas-multi-index", table.set_index(["date", "ticker"]), {}),
    ("pandas-unnamed-index", table.set_index("date").rename_axis(None), {"compression": "gzip"}),
    ("pandas-category", table.astype({"ticker": "category"}), {"compression": "zstd", "index": False}),
    ("pandas-nullable", table.convert_dtypes(), {"index": False}),
    ("fastparquet", table, {"engine": "fastparquet", "index": False}),
]:
    frame.to_parquet(path(name), **options)
    expect(name, "table", read(name))
ranked = table[table["rank"] > -3]
ranked.to_parquet(path("pandas-row-labels"))
expect("pandas-row-labels", "ranked", ranked)

# Encodings of pyarrow, pages of both versions, several row groups, and what Spark writes.
plain = {"use_dictionary": False, "row_group_size": 17}
floats = {"mom_5": "BYTE_STREAM_SPLIT", "vol_20": "BYTE_STREAM_SPLIT"}
deltas = {**floats, **{name: "DELTA_BINARY_PACKED" for name in ["date", "rank", "count"]}}
for name, options in {
    "plain-v1": {"compression": "none", "write_page_checksum": True, **plain},
    "plain-v2": {"data_page_version": "2.0", **plain},
    "dictionary-v2": {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 20},
    "small-pages": {"data_page_size": 64, "write_batch_size": 8, "dictionary_pagesize_limit": 64},
    "delta-length": {"use_dictionary": False, "column_encoding": {**deltas, "ticker": "DELTA_LENGTH_BYTE_ARRAY"}},
    "delta-text": {"use_dictionary": False, "column_encoding": {**deltas, "ticker": "DELTA_BYTE_ARRAY"}},
    "spark-int96": {"flavor": "spark", "use_deprecated_int96_timestamps": True, "compression": "snappy"},
    "spark-legacy": {"flavor": "spark", "version": "1.0", "coerce_timestamps": "ms", "store_schema": False},
}.items():
    pq.write_table(arrow, path(name), **options)
    expect(name, "table", read(name))
split = {name: "BYTE_STREAM_SPLIT" for name in ["rank", "count"]}
pq.write_table(arrow, path("split-integers"), use_dictionary=False, column_encoding=split)
files["split-integers"] = {"kind": "features", "code": "unreadable_blob", "message": "BYTE_STREAM_SPLIT"}

# Types of dates.
few = pa.Table.from_pandas(dated, preserve_index=False)
times = {
    f"timestamp-{unit}{'-utc' if zone else ''}": few["date"].cast(pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
    for unit in ["ms", "us", "ns"]
    for zone in [None, "UTC"]
}
times["date32"] = few["date"].cast(pa.date32())
times["date-text"] = pa.array(dated["date"].dt.strftime("%Y-%m-%d"))
times["date-epoch"] = pa.array(dated["date"].astype("datetime64[ms]").astype("int64"))
for name, column in times.items():
    pq.write_table(few.set_column(1, "date", column), path(name))
    found = read(name)
    if name == "date-epoch":
        found["date"] = pd.to_datetime(found["date"], unit="ms")
    expect(name, "dated", found)
tokyo = dated.assign(date=dated["date"].dt.tz_localize("Asia/Tokyo"))
tokyo.to_parquet(path("pandas-tokyo"), index=False)
expect("pandas-tokyo", "dated", read("pandas-tokyo"))
dated.assign(date=dated["date"] + pd.Timedelta(hours=16)).to_parquet(path("time-of-day"), index=False)
files["time-of-day"] = {"kind": "features", "code": "invalid_data", "message": "is not midnight"}
dated.assign(mom_5=[[value] for value in dated["mom_5"]]).to_parquet(path("nested"), index=False)
files["nested"] = {"kind": "features", "code": "invalid_data", "message": "numbers are expected"}

# Names that only differ in case, and equal ones.
cased = few.append_column("MOM_5", few["mom_5"])
pq.write_table(cased, path("case"))
expect("case", "cased", cased.to_pandas())
pq.write_table(few.append_column("mom_5", few["mom_5"]), path("twice"))
files["twice"] = {"kind": "features", "code": "invalid_data", "message": "two columns \"mom_5\""}

# Decimals and tickers of digits.
digits = dated.assign(
    ticker=dated["ticker"].map({"MSFT": 7203, "AAPL": 600519, "É": 1, "BRK.B": 9984}),
    mom_5=[None if np.isnan(value) else Decimal(f"{value:.9f}") for value in dated["mom_5"]],
)
digits.to_parquet(path("decimals"), index=False)
expect("decimals", "digits", read("decimals"))

# polars, DuckDB.
pl.from_pandas(table.assign(date=table["date"].dt.date)).write_parquet(path("polars"), row_group_size=20)
expect("polars", "table", read("polars"))
duckdb.sql(f"COPY (SELECT * FROM \"table\") TO '{path('duckdb')}' (FORMAT parquet, COMPRESSION zstd)")
expect("duckdb", "table", read("duckdb"))

# Prices: long with a window in the metadata, wide with one in the attributes, and as yfinance has them.
prices = (table.pivot(index="date", columns="ticker", values="mom_5").abs() + 10).round(4)
polars_prices = pl.from_pandas(long(prices).assign(volume=7))
polars_prices.write_parquet(path("polars-prices"), metadata=WINDOW)
expect("polars-prices", "prices", read("polars-prices").drop(columns="volume"), "prices", window=WINDOW)
prices.attrs["Learning_end"] = WINDOW["Learning_end"]
prices.to_parquet(path("pandas-wide-prices"))
window = {"Learning_end": WINDOW["Learning_end"]}
expect("pandas-wide-prices", "prices", long(pd.read_parquet(path("pandas-wide-prices"))), "prices", window=window)
prices.attrs = {}
fields = {"Adj Close": prices, "Close": prices * 2, "Volume": prices * 0 + 5}
yahoo = pd.concat(fields, axis=1, names=["Price", "Ticker"]).rename_axis(index="Date")
for name, frame in {"yfinance": yahoo, "yfinance-by-ticker": yahoo.swaplevel(axis=1).sort_index(axis=1)}.items():
    frame.to_parquet(path(name))
    found = pd.read_parquet(path(name))
    expect(name, "prices", long(found.xs("Adj Close", axis=1, level="Price")), "prices")

# The texts that pandas writes as JSON.
few_prices = prices.iloc[:3, :2]
few_rows = table.sort_values(["ticker", "date"]).groupby("ticker").head(2)
exact = {"double_precision": 15, "date_format": "epoch", "date_unit": "ms"}


def by_ticker(orient):
    """One text, of a DataFrame for each ticker."""
    frames = {ticker: rows.drop(columns="ticker").set_index("date") for ticker, rows in few_rows.groupby("ticker")}
    return json.dumps({ticker: json.loads(rows.to_json(orient=orient, **exact)) for ticker, rows in frames.items()})


texts = {
    "prices": {
        **{orient: few_prices.to_json(orient=orient, **exact) for orient in ["columns", "index", "split"]},
        "records": long(few_prices).to_json(orient="records", **exact),
        "ISO dates": few_prices.to_json(date_format="iso"),
    },
    "features": {
        "records": few_rows.to_json(orient="records", **exact),
        **{f"{orient} by ticker": by_ticker(orient) for orient in ["columns", "index", "split"]},
    },
}
contents["few prices"] = rows_of(long(few_prices))
found = pd.DataFrame(json.loads(texts["features"]["records"]))
contents["few rows"] = rows_of(found.assign(date=pd.to_datetime(found["date"], unit="ms")))

with open(os.path.join(FOLDER, "expected.json"), "w", encoding="utf-8") as file:
    json.dump({"contents": contents, "files": files, "texts": texts}, file, ensure_ascii=False, indent=2)
    file.write("\n")
