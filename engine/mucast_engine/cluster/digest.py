"""The digest by which two machines know that they have the same engine."""

import hashlib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def engine_digest(package: Path = PACKAGE) -> str:
    """SHA-256 over the names and the bytes of the package's modules, but for what Python has compiled of them."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py"), key=lambda path: path.relative_to(package).as_posix()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()}\n{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
