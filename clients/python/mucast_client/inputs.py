"""The inputs of a job: data frames and files, uploaded once each, or the URLs of blobs."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
from datetime import date, datetime, time
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import httpx

from .answers import json_object
from .connection import LONG_READ_SECONDS, Call, Connection

if TYPE_CHECKING:
    import pandas as pd


class ArrowTable(Protocol):
    """A table of pyarrow, polars or another library with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


Table: TypeAlias = "pd.DataFrame | ArrowTable"
Input: TypeAlias = "Table | os.PathLike[str] | str"
"""A table, the `pathlib.Path` of a JSON or Parquet file, or the URL of a blob. A text is a URL."""

FILE_SUFFIXES = (".json", ".parquet", ".csv", ".csv.gz")

# 128 bits.
NAME_LENGTH = 32

Kind = Literal["feature_engine", "data_extractor"]
Day: TypeAlias = "date | str"
"""A date, or its text YYYY-MM-DD."""


class Uploads:
    """The blobs that this client has uploaded, each once.

    Their names are digests of their content. So a repeated call has the same payload, as an idempotency key requires,
    and an upload never replaces other content.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # By name.
        self._urls: dict[str, str] = {}
        self._lock = Lock()

    def url_of(self, kind: Kind, source: Input) -> str:
        """The URL of a blob with this content; uploads it if this client has not done so before."""
        if isinstance(source, str):
            if "://" not in source and source.lower().endswith(FILE_SUFFIXES):
                raise ValueError(f"{source!r} is not a URL; for a file, pass pathlib.Path({source!r})")
            return source
        body, suffix = body_of(source)
        with io.BytesIO(body) if isinstance(body, bytes) else body.open("rb") as file:
            name = f"{kind}_{hashlib.file_digest(file, 'sha256').hexdigest()[:NAME_LENGTH]}{suffix}"
        with self._lock:
            if name not in self._urls:
                self._urls[name] = self._upload(name, body)
            return self._urls[name]

    def forget(self, name: str) -> None:
        """After the blob was removed."""
        with self._lock:
            self._urls.pop(name, None)

    def _upload(self, name: str, body: bytes | Path) -> str:
        headers = {"content-type": "application/octet-stream"}
        call = Call("PUT", f"/data/{name}", headers=headers, body=body, read_seconds=LONG_READ_SECONDS)
        url: str = json_object(self._connection.send(call), "url")["url"]
        return url


def body_of(source: Table | os.PathLike[str]) -> tuple[bytes | Path, str]:
    """The content of an input and its suffix. Raises ValueError for another kind of file."""
    if isinstance(source, os.PathLike):
        path = Path(source)
        if path.suffix not in (".json", ".parquet"):
            raise ValueError(f"{path.name} must be a .json or a .parquet file; read other files into a data frame")
        return path, path.suffix
    return parquet_of(source, "an input"), ".parquet"


def parquet_of(table: Any, name: str) -> bytes:
    """Raises TypeError for what is no table, and ImportError without pyarrow."""
    buffer = io.BytesIO()
    if hasattr(table, "write_parquet"):
        # Of polars, whose categories pyarrow does not write.
        table.write_parquet(buffer, compression="snappy")
        return buffer.getvalue()
    is_pandas = hasattr(table, "to_parquet")
    if not is_pandas and not hasattr(table, "__arrow_c_stream__"):
        kinds = "a table of pandas, polars or pyarrow, or a pathlib.Path"
        raise TypeError(f"{name} must be {kinds}, not {type(table)}")
    if importlib.util.find_spec("pyarrow") is None:
        raise ImportError("this table needs pyarrow: pip install 'mucast-client[pandas]'")
    if is_pandas:
        table.to_parquet(buffer, engine="pyarrow")
    else:
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(table), buffer)
    return buffer.getvalue()


def day_text(day: Day | None) -> str | None:
    """YYYY-MM-DD of a date or a midnight. The service refuses other times."""
    if isinstance(day, datetime) and day.time() == time():
        return day.date().isoformat()
    return day.isoformat() if isinstance(day, date) else day


def prepare_body(
    prices: Table | os.PathLike[str], features: Table | os.PathLike[str] | None
) -> tuple[bytes | Path, str]:
    """The body of a preparation and its content type: the prices, or a form of both tables."""
    body = Path(prices) if isinstance(prices, os.PathLike) else prices_of(prices)
    if features is None:
        return body, "application/octet-stream"
    own = Path(features) if isinstance(features, os.PathLike) else parquet_of(features, "features")
    parts = {"prices": body, "features": own}
    files = {name: part if isinstance(part, bytes) else part.read_bytes() for name, part in parts.items()}
    form = httpx.Request("POST", "https://form", files=files)
    return form.read(), form.headers["content-type"]


def prices_of(table: Any) -> bytes:
    """CSV of a pandas frame, whose index of dates may have no name."""
    return table.to_csv().encode() if hasattr(table, "to_csv") else parquet_of(table, "prices")
