"""What this machine shows to a cluster: a token and certificates.

All of it is looked at before anything is connected: what Ray and gRPC say of a token that no cluster can have is about
other things, or comes after half a minute.
"""

import os
import re
import ssl
import stat
from pathlib import Path

from mucast_engine.cluster.fault import unavailable

# The files of Ray's TLS, by the variables that name them.
CERTIFICATES = ("RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")
TOKEN, TOKEN_FILE = "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
# Where Ray looks when neither is set.
OWN_FILE = "~/.ray/auth_token"
# It goes into one header, of which gRPC takes 8 KiB for sure. Ray's own tokens have 64 characters.
MAX_TOKEN_LENGTH = 4_096
PRINTABLE = re.compile(rb"[!-~]{1,%d}" % MAX_TOKEN_LENGTH)


def uses_tls() -> bool:
    """As Ray reads it."""
    return os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true")


def require_certificates() -> None:
    """Raises ClusterError unless each file of TLS can be read, and the certificate goes with its key."""
    for name in CERTIFICATES:
        path = os.environ.get(name)
        if not path:
            raise unavailable(f"{name} is not set, and RAY_USE_TLS=1 needs {', '.join(CERTIFICATES)}", variable=name)
        _start_of(path, name)
    certificate, key, authority = (os.environ[name] for name in CERTIFICATES)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_cert_chain(certificate, key, password="")  # Python would ask the terminal for one.
    except (ssl.SSLError, ValueError):
        raise unavailable(
            "RAY_TLS_SERVER_CERT and RAY_TLS_SERVER_KEY name no certificate and its own key, both in PEM and the key "
            "without a password",
            variable="RAY_TLS_SERVER_KEY",
        ) from None
    try:
        context.load_verify_locations(authority)
    except ssl.SSLError:
        message = "RAY_TLS_CA_CERT names no certificate of an authority in PEM"
        raise unavailable(message, variable="RAY_TLS_CA_CERT") from None


def find_token() -> str | None:
    """The token, from where Ray reads it; None if there is none. Raises ClusterError if what is there cannot be one."""
    given = os.fsencode(os.environ.get(TOKEN, ""))
    if given.strip():
        return _printable(given, TOKEN, TOKEN)
    if path := os.environ.get(TOKEN_FILE):
        return _printable(_start_of(path, TOKEN_FILE), _file_of(TOKEN_FILE), TOKEN_FILE)
    own = Path.home() / ".ray" / "auth_token"
    return _printable(_start_of(str(own), OWN_FILE), OWN_FILE, OWN_FILE) if own.is_file() else None


def _file_of(source: str) -> str:
    """In words: of a variable the file that it names."""
    return source if source == OWN_FILE else f"the file that {source} names"


def _printable(text: bytes, place: str, variable: str) -> str:
    """The token that `text` is. Raises ClusterError, which does not show the text."""
    token = text.strip()
    if not token:
        raise unavailable(f"{place} holds no token: it is empty", variable=variable)
    if not PRINTABLE.fullmatch(token):
        raise unavailable(
            f"{place} holds no token: that is one line of at most {MAX_TOKEN_LENGTH:,} printable ASCII characters "
            "without a space, such as `openssl rand -hex 32` prints",
            variable=variable,
        )
    return token.decode()


def _start_of(path: str, variable: str) -> bytes:
    """What a file begins with, more than a token has. Raises ClusterError unless Ray can read it, and read it again."""
    try:
        # A pipe without a writer would keep the caller waiting.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            mode = os.fstat(descriptor).st_mode
            # What is read of a pipe is gone. A folder is read for its error.
            is_kept = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
            text = os.read(descriptor, 2 * MAX_TOKEN_LENGTH) if is_kept else b""
        finally:
            os.close(descriptor)
    except OSError as error:
        message = f"{_file_of(variable)} cannot be read: {error.strerror}"
        raise unavailable(message, variable=variable) from None
    if not is_kept:
        message = f"{_file_of(variable)} is a pipe or a device, and Ray reads it more than once: a file has to be there"
        raise unavailable(message, variable=variable)
    return text
