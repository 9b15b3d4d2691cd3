"""Reads a Parquet table of features as a Python user would; prints seconds, values and peak memory as JSON.

Usage: read_parquet.py pandas|polars PATH
"""

import json
import resource
import sys
import time


def with_pandas(path):
    import pandas

    return pandas.read_parquet(path).shape


def with_polars(path):
    import polars

    return polars.read_parquet(path).shape


READERS = {"pandas": with_pandas, "polars": with_polars}
KEYS = 2
"""Columns that are no values: date and ticker."""


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
    __import__(name)
    if name == "pandas":
        # pandas imports its Parquet library at the first use.
        __import__("pyarrow.parquet")
    start, processor = time.perf_counter(), time.process_time()
    rows, columns = READERS[name](path)
    seconds, processor_seconds = time.perf_counter() - start, time.process_time() - processor
    found = {
        "seconds": seconds,
        "processorSeconds": processor_seconds,
        "values": rows * (columns - KEYS),
        "peakBytes": peak_bytes(),
    }
    print(json.dumps(found))


main()
