"""`python -m mucast_engine host --libraries lightgbm --folder F`: see host.py; on macOS it spawns `worker`.

`cluster` is the host whose workers are tasks on a Ray cluster (cluster/gateway.py).
"""

import argparse
import json
import os
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Literal

from mucast_engine.process import StartMethod, claim_stdout, die_with_parent, has_hung_up, silence_input, watch_parent

Role = Literal["host", "worker", "cluster"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="mucast_engine")
    parser.add_argument("role", choices=["host", "worker", "cluster"])
    parser.add_argument("--libraries", required=True, help="comma-separated: sklearn,xgboost,lightgbm,catboost,torch")
    parser.add_argument("--folder", type=Path, required=True, help="work folder: the arrays of tasks are in it")
    parser.add_argument("--start", choices=["fork", "spawn"], default="spawn" if sys.platform == "darwin" else "fork")
    parser.add_argument("--parent", type=int, help="worker only: pid of its host")
    parser.add_argument("--descriptor", type=int, help="worker only: its end of the socket pair")
    parser.add_argument("--engine", help="cluster only: its address, such as ray://10.0.0.1:10001")
    parser.add_argument("--insecure", action="store_true", help="cluster only: without a token, on loopback")
    parser.add_argument("--seconds", type=float, default=30, help="cluster only: how long it may take to answer")
    options = parser.parse_args()
    sys.set_int_max_str_digits(0)  # Integers of a config stay exact at any length; its size has its own limit.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # They may be sent to the whole group; the caller decides what they mean.
    libraries: list[str] = options.libraries.split(",")
    role: Role = options.role
    match role:
        case "host":
            run_host(libraries, options.folder, options.start)
        case "worker":
            run_spawned_worker(libraries, options.folder, options.parent, options.descriptor)
        case "cluster":
            run_gateway(libraries, options.folder, options.engine, options.insecure, options.seconds)


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
    os._exit(0)  # Every worker has ended; freeing a large interpreter would only delay the caller.


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


def run_gateway(libraries: list[str], folder: Path, url: str, insecure: bool, seconds: float) -> None:
    """Serves until stdin ends, as it does when the caller is killed; the cluster then drops the tasks."""
    stdin, stdout = os.dup(0), claim_stdout()
    silence_input()
    from mucast_engine.cluster.gateway import run

    code = 1
    try:
        run(stdin, stdout, libraries, folder, url, insecure, seconds)
        code = 0
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(code)  # Threads of Ray's client may still wait for a cluster that does not answer.


if __name__ == "__main__":
    main()
