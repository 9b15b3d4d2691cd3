"""Reads features as a Python user would; prints seconds, values and peak memory as JSON.

Usage: read_features.py json|orjson|pandas|polars PATH
"""

import json
import sys
import time


def json_values(features):
    return sum(len(column) for columns in features.values() for _, column in columns.items())


def table_values(table):
    rows, columns = table.shape
    return rows * (columns - 2)  # without date and ticker


def with_json(path):
    with open(path, encoding="utf-8") as file:
        return json_values(json.load(file)["features"])


def with_orjson(path):
    import orjson

    with open(path, "rb") as file:
        return json_values(orjson.loads(file.read())["features"])


def with_pandas(path):
    import pandas

    if path.endswith(".parquet"):
        return table_values(pandas.read_parquet(path))
    blob = pandas.read_json(path, typ="series", convert_axes=False, convert_dates=False, precise_float=True)
    dates = pandas.to_datetime(blob["dates"])
    return json_values(
        {
            ticker: pandas.DataFrame(columns, index=dates, dtype="float64")
            for ticker, columns in blob["features"].items()
        }
    )


def with_polars(path):
    import polars

    return table_values(polars.read_parquet(path))


def peak_bytes():
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


name, path = sys.argv[1:]
__import__(name)
if name == "pandas":
    # pandas imports its Parquet library at the first use.
    __import__("pyarrow.parquet")
start, processor = time.perf_counter(), time.process_time()
values = globals()[f"with_{name}"](path)
seconds, processor_seconds = time.perf_counter() - start, time.process_time() - processor
print(
    json.dumps(
        {
            "seconds": seconds,
            "processorSeconds": processor_seconds,
            "values": values,
            "peakBytes": peak_bytes(),
        }
    )
)
