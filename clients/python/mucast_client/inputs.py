"""The inputs of a job: data frames and files, uploaded once each, or the URLs of blobs."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, TypeAlias

from .answers import json_object
from .connection import LONG_READ_SECONDS, Call, Connection

if TYPE_CHECKING:
    import pandas as pd

Input: TypeAlias = "pd.DataFrame | os.PathLike[str] | str"
"""A data frame, the `pathlib.Path` of a JSON or Parquet file, or the URL of a blob. A text is a URL."""

FILE_SUFFIXES = (".json", ".parquet", ".csv", ".csv.gz")

# 128 bits.
NAME_LENGTH = 32

Kind = Literal["feature_engine", "data_extractor"]
Day: TypeAlias = "date | str"
"""A date, or its text YYYY-MM-DD."""


@dataclass(frozen=True)
class Content:
    body: bytes | Path
    suffix: str
    sha256: str


class Uploads:
    """The blobs that this client has uploaded, each once.

    Their names are digests of their content. So a repeated call has the same payload, as an idempotency key requires,
    and an upload never replaces other content.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._urls: dict[tuple[Kind, str], str] = {}
        self._lock = Lock()

    def url_of(self, kind: Kind, source: Input) -> str:
        """The URL of a blob with this content; uploads it if this client has not done so before."""
        if isinstance(source, str):
            if "://" not in source and source.lower().endswith(FILE_SUFFIXES):
                raise ValueError(f"{source!r} is not a URL; for a file, pass pathlib.Path({source!r})")
            return source
        content = content_of(source)
        with self._lock:
            url = self._urls.get((kind, content.sha256))
            if url is None:
                url = self._upload(f"{kind}_{content.sha256[:NAME_LENGTH]}{content.suffix}", content)
                self._urls[kind, content.sha256] = url
        return url

    def forget(self, name: str) -> None:
        """After the blob was removed."""
        with self._lock:
            self._urls = {key: url for key, url in self._urls.items() if not url.endswith(f"/{name}")}

    def _upload(self, name: str, content: Content) -> str:
        headers = {"content-type": "application/octet-stream"}
        call = Call("PUT", f"/data/{name}", headers=headers, body=content.body, read_seconds=LONG_READ_SECONDS)
        url: str = json_object(self._connection.send(call), "url")["url"]
        return url


def content_of(source: pd.DataFrame | os.PathLike[str]) -> Content:
    """Raises TypeError for anything but a data frame and a path, and ValueError for another kind of file."""
    if isinstance(source, os.PathLike):
        path = Path(source)
        if path.suffix not in (".json", ".parquet"):
            raise ValueError(f"{path.name} must be a .json or a .parquet file; read other files into a data frame")
        with path.open("rb") as file:
            return Content(path, path.suffix, hashlib.file_digest(file, "sha256").hexdigest())
    if not hasattr(source, "to_parquet"):
        raise TypeError(f"an input must be a data frame, a pathlib.Path or a URL, not {type(source).__name__}")
    body = parquet_of(source)
    return Content(body, ".parquet", hashlib.sha256(body).hexdigest())


def parquet_of(frame: pd.DataFrame) -> bytes:
    """The Parquet table of a frame, whose named indexes become columns. Raises ImportError without pyarrow."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ImportError("data frames need pyarrow: pip install 'mucast-client[pandas]'")
    buffer = io.BytesIO()
    frame.to_parquet(buffer, engine="pyarrow")
    return buffer.getvalue()


def day_text(day: Day | None) -> str | None:
    """YYYY-MM-DD of a date or a midnight. The service refuses other times."""
    if isinstance(day, datetime) and day.time() == time():
        return day.date().isoformat()
    return day.isoformat() if isinstance(day, date) else day


def prepare_body(
    prices: pd.DataFrame | os.PathLike[str], features: pd.DataFrame | os.PathLike[str] | None
) -> tuple[bytes | Path, str]:
    """The body of a preparation and its content type: the prices, or a form of both tables."""
    for name, table in (("prices", prices), ("features", features)):
        if table is not None and not isinstance(table, os.PathLike) and not hasattr(table, "to_csv"):
            raise TypeError(f"{name} must be a data frame or a pathlib.Path, not {type(table).__name__}")
    if features is None:
        body = Path(prices) if isinstance(prices, os.PathLike) else prices.to_csv().encode()
        return body, "application/octet-stream"
    parts = {
        "prices": Path(prices).read_bytes() if isinstance(prices, os.PathLike) else prices.to_csv().encode(),
        "features": Path(features).read_bytes() if isinstance(features, os.PathLike) else parquet_of(features),
    }
    return form_of(parts)


def form_of(parts: Mapping[str, bytes]) -> tuple[bytes, str]:
    """A form of files (RFC 7578) and its content type, with a boundary that occurs in none of them."""
    boundary = secrets.token_hex(16)
    while any(boundary.encode() in part for part in parts.values()):
        boundary = secrets.token_hex(16)
    pieces: list[bytes] = []
    for name, part in parts.items():
        head = f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"; filename="{name}"\r\n'
        pieces += [head.encode(), b"content-type: application/octet-stream\r\n\r\n", part, b"\r\n"]
    return b"".join([*pieces, f"--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"
