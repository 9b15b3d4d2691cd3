"""`python -m mucast_engine host --libraries lightgbm --folder F`: see host.py; `worker` is what it spawns on macOS."""

import argparse
import json
import os
import signal
import socket
import sys
from pathlib import Path

from mucast_engine.process import StartMethod, claim_stdout, die_with_parent, has_hung_up, silence_input, watch_parent


def main() -> None:
    parser = argparse.ArgumentParser(prog="mucast_engine")
    parser.add_argument("role", choices=["host", "worker"])
    parser.add_argument("--libraries", required=True, help="comma-separated: sklearn,xgboost,lightgbm,catboost,torch")
    parser.add_argument("--folder", required=True, type=Path, help="work folder: the arrays of tasks lie in it")
    parser.add_argument("--start", choices=["fork", "spawn"], default="spawn" if sys.platform == "darwin" else "fork")
    parser.add_argument("--parent", type=int, help="worker only: pid of its host")
    parser.add_argument("--descriptor", type=int, help="worker only: its end of the socket pair")
    options = parser.parse_args()
    sys.set_int_max_str_digits(0)  # Integers of a config stay exact, however long; its size has a limit of its own.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # They may be sent to the whole group; the caller decides what they mean.
    if options.role == "host":
        run_host(options.libraries.split(","), options.folder, options.start)
    else:
        run_spawned_worker(options.libraries.split(","), options.folder, options.parent, options.descriptor)


def run_host(libraries: list[str], folder: Path, method: StartMethod) -> None:
    """Greets on stdout once workers can be started, then serves until stdin ends."""
    die_with_parent(os.getppid())
    if has_hung_up(0):
        os._exit(1)  # The caller had ended before the kernel was asked to signal its end; imports would take seconds.
    stdin, stdout = os.dup(0), claim_stdout()
    silence_input()
    from mucast_engine.host import Host

    host = Host(stdin, stdout, folder, method)
    host.prepare(libraries)
    host.run()
    sys.stderr.flush()
    os._exit(0)  # Every worker has ended; freeing a large interpreter would only make the caller wait.


def run_spawned_worker(libraries: list[str], folder: Path, parent: int, descriptor: int) -> None:
    """Imports the libraries, then works until the host closes the socket `descriptor`."""
    die_with_parent(parent)
    watch_parent(parent)
    claim_stdout()
    silence_input()
    from mucast_engine.failure import sentence_of
    from mucast_engine.libraries import import_libraries
    from mucast_engine.worker import serve

    connection = socket.socket(fileno=descriptor)
    try:
        import_libraries(libraries)
    except Exception as error:
        connection.sendall(json.dumps({"event": "failed", "message": sentence_of(error)}).encode() + b"\n")
        raise
    serve(connection, folder)


if __name__ == "__main__":
    main()
