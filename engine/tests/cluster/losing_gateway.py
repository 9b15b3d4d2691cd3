"""A gateway whose first arrays lie on one node alone, so that they are lost with it; Ray puts all on the head.

python losing_gateway.py NODE ARRAYS cluster --libraries ...
"""

import sys
from typing import Any
from unittest import mock

from mucast_engine.__main__ import main
from mucast_engine.cluster.session import Session

address, left = sys.argv.pop(1), int(sys.argv.pop(1))
put = Session.put


def made(array: Any) -> Any:
    """On the node, whose object store keeps what comes out."""
    return array.copy()


def put_on_node(session: Session, array: Any) -> Any:
    global left
    if left == 0:
        return put(session, array)
    left -= 1
    import ray

    there = {f"node:{address}": 0.001}
    reference = ray.remote(num_cpus=0, max_retries=0, resources=there)(made).remote(array)
    ray.wait([reference], fetch_local=False)
    return reference


with mock.patch.object(Session, "put", put_on_node):
    main()
