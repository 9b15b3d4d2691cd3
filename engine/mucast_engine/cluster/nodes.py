"""The nodes of a cluster as Ray lists them, and which of them tasks may go to."""

from collections.abc import Collection
from typing import Any, NamedTuple

HEAD = "node:__internal_head__"
# Of nodes that are gone, the last ones: messages may still name them.
NAMES_KEPT = 1_000


class Node(NamedTuple):
    id: str
    name: str
    """Its address, by which the user knows it; two nodes on one machine have part of the id behind it."""
    is_head: bool
    cpus: float
    gpus: float
    memory_bytes: int
    store_bytes: int
    """Of Ray's object store on the node."""
    address: str
    port: int
    """Of its raylet, which other nodes connect to."""

    @property
    def slots(self) -> int:
        """Tasks of one thread at a time."""
        return int(self.cpus)

    @property
    def described(self) -> dict[str, Any]:
        return {"name": self.name, "cpus": self.cpus, "gpus": self.gpus, "memory_bytes": self.memory_bytes}


def read_nodes(rows: list[dict[str, Any]]) -> dict[str, Node]:
    """Those alive, by id; `rows` are Ray's."""
    alive = [row for row in rows if row["Alive"]]
    addresses = [row["NodeManagerAddress"] for row in alive]
    found: dict[str, Node] = {}
    for row in sorted(alive, key=lambda row: str(row["NodeID"])):
        address, resources = row["NodeManagerAddress"], row["Resources"]
        found[row["NodeID"]] = Node(
            id=row["NodeID"],
            name=address if addresses.count(address) == 1 else f"{address} ({row['NodeID'][:8]})",
            is_head=HEAD in resources,
            cpus=float(resources.get("CPU", 0)),
            gpus=float(resources.get("GPU", 0)),
            memory_bytes=int(resources.get("memory", 0)),
            store_bytes=int(resources.get("object_store_memory", 0)),
            address=address,
            port=int(row["NodeManagerPort"]),
        )
    return found


class Membership:
    """The nodes that count: alive, inspected and not left out. Slots are theirs."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._names: dict[str, str] = {}
        self._admitted: set[str] = set()
        self.left_out: dict[str, str] = {}
        """Why, by id: they differ, or do not answer."""
        self.members: list[Node] = []
        self.avoid: frozenset[str] = frozenset()
        """The ids of those that are alive, but not for tasks."""

    @property
    def slots(self) -> int:
        return sum(node.slots for node in self.members)

    def name_of(self, id: str) -> str:
        return self._names.get(id, f"node {id[:8]}")

    def update(self, nodes: dict[str, Node]) -> tuple[list[Node], list[str]]:
        """Takes Ray's list. Returns the nodes that are new, and the ids of members that are gone."""
        new = [node for id, node in nodes.items() if id not in self.nodes]
        gone = [node.id for node in self.members if node.id not in nodes]
        # A name that was told stays, also when a second node comes to the same address.
        self.nodes = {id: node._replace(name=self._names.get(id, node.name)) for id, node in nodes.items()}
        gone_names = {id: name for id, name in self._names.items() if id not in nodes}
        kept = dict(list(gone_names.items())[-NAMES_KEPT:])
        self._names = {**kept, **{id: node.name for id, node in self.nodes.items()}}
        self._admitted &= nodes.keys()
        self.left_out = {id: why for id, why in self.left_out.items() if id in nodes}
        self._settle()
        return new, gone

    def admit(self, id: str) -> bool:
        """After an inspection; also one that did not answer for a while. Returns whether it was none before."""
        is_new = id in self.nodes and (id not in self._admitted or id in self.left_out)
        if is_new:
            self._admitted.add(id)
            self.left_out.pop(id, None)
            self._settle()
        return is_new

    def leave_out(self, id: str, why: str) -> bool:
        """Returns whether it was a member."""
        was_member = any(node.id == id for node in self.members)
        if id in self.nodes:
            self.left_out[id] = why
            self._settle()
        return was_member

    def _settle(self) -> None:
        """Both are asked for many times between two changes."""
        ids = [id for id in sorted(self._admitted) if id in self.nodes and id not in self.left_out]
        self.members = [self.nodes[id] for id in ids]
        self.avoid = frozenset(self.nodes.keys() - set(ids))

    def can_hold(self, cpus: float, gpus: float, memory: int = 0, besides: Collection[str] = ()) -> bool:
        """Whether a member that is none of `besides` could take such a task, were it idle. `memory`: bytes."""
        return any(
            node.cpus >= cpus and node.gpus >= gpus and node.memory_bytes >= memory and node.id not in besides
            for node in self.members
        )

    @property
    def most_cpus(self) -> float:
        return max((node.cpus for node in self.members), default=1.0)
