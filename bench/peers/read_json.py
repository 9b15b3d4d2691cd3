"""Reads a canonical feature blob as a Python user would; prints seconds, values and peak memory as JSON.

Usage: read_json.py json|orjson|pandas PATH
"""

import json
import resource
import sys
import time


def with_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["features"]


def with_orjson(path):
    import orjson

    with open(path, "rb") as file:
        return orjson.loads(file.read())["features"]


def with_pandas(path):
    import pandas

    blob = pandas.read_json(path, typ="series", convert_axes=False, convert_dates=False, precise_float=True)
    dates = pandas.to_datetime(blob["dates"])
    return {
        ticker: pandas.DataFrame(columns, index=dates, dtype="float64")
        for ticker, columns in blob["features"].items()
    }


READERS = {"json": with_json, "orjson": with_orjson, "pandas": with_pandas}


def peak_bytes():
    """Peak resident memory: on Linux of this program alone, elsewhere of the whole process."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main():
    name, path = sys.argv[1:]
    if name != "json":
        __import__(name)
    start = time.perf_counter()
    features = READERS[name](path)
    seconds = time.perf_counter() - start
    values = sum(len(column) for columns in features.values() for _, column in columns.items())
    print(json.dumps({"seconds": seconds, "values": values, "peakBytes": peak_bytes()}))


main()
