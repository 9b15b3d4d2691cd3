"""The nodes of a cluster as Ray lists them, and which of them may get tasks."""

from typing import Any, NamedTuple

from mucast_engine.cluster.requests import TaskRequest

HEAD = "node:__internal_head__"
# Names of nodes that are gone: messages may still name the last ones.
MAX_GONE_NAMES = 1_000
# Of a GPU, for the task that only asks whether there is one.
GPU_INQUIRY = 0.01


class Node(NamedTuple):
    id: str
    name: str
    """Its address, by which the user knows it; if two nodes share one, part of the id follows."""
    is_head: bool
    cpus: float
    gpus: float
    memory_bytes: int
    store_bytes: int
    """Of Ray's object store on the node."""

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
        )
    return found


class Membership:
    """The members are the nodes that are alive, inspected and not excluded."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.admitted: set[str] = set()
        self.excluded: dict[str, str] = {}
        """The reason by id."""
        self._names: dict[str, str] = {}

    @property
    def members(self) -> list[Node]:
        return [self.nodes[id] for id in sorted(self.admitted)]

    @property
    def slots(self) -> int:
        return sum(node.slots for node in self.members)

    @property
    def head(self) -> Node | None:
        return next((node for node in self.nodes.values() if node.is_head), None)

    def name_of(self, id: str) -> str:
        return self._names.get(id, f"node {id[:8]}")

    def update(self, nodes: dict[str, Node]) -> list[str]:
        """Takes Ray's list. Returns the ids of the members that are gone."""
        gone = sorted(self.admitted - nodes.keys())
        # A name that was told stays, also when a second node comes to the same address.
        self.nodes = {id: node._replace(name=self._names.get(id, node.name)) for id, node in nodes.items()}
        gone_names = {id: name for id, name in self._names.items() if id not in nodes}
        kept = dict(list(gone_names.items())[-MAX_GONE_NAMES:])
        self._names = {**kept, **{id: node.name for id, node in self.nodes.items()}}
        self.admitted &= nodes.keys()
        self.excluded = {id: why for id, why in self.excluded.items() if id in nodes}
        return gone

    def admit(self, id: str) -> None:
        if id in self.nodes:
            self.admitted.add(id)
            self.excluded.pop(id, None)

    def exclude(self, id: str, why: str) -> None:
        self.admitted.discard(id)
        if id in self.nodes:
            self.excluded[id] = why

    def can_hold(self, request: TaskRequest) -> bool:
        """Whether a member could take the task if it were idle."""
        return any(
            node.cpus >= request.cpus
            and node.gpus >= request.gpus
            and node.memory_bytes >= request.memory
            and request.node in (None, node.name)
            for node in self.members
        )

    def fitted(self, asked: TaskRequest) -> TaskRequest:
        """No more cores than the largest member has; an inquiry about GPUs goes to a node that has one."""
        if not self.members:
            return asked
        cpus = min(asked.cpus, float(max(node.slots for node in self.members)))
        is_inquiry = asked.kind == "device" and asked.gpus == 0 and any(node.gpus for node in self.members)
        return asked._replace(cpus=cpus, gpus=GPU_INQUIRY if is_inquiry else asked.gpus)

    def options_of(self, request: TaskRequest) -> dict[str, Any]:
        """Ray's options for the task: what it reserves, and the nodes that must not run it."""
        options: dict[str, Any] = {"num_cpus": request.cpus}
        if request.gpus:
            options["num_gpus"] = request.gpus
        if request.memory:
            options["memory"] = request.memory
        if avoided := sorted(id for id, node in self.nodes.items() if node.slots > 0 and id not in self.admitted):
            options["label_selector"] = {"ray.io/node-id": f"!in({','.join(avoided)})"}
        return options


def needs_of(request: TaskRequest) -> str:
    """What the task reserves, in words."""
    cores = "a core" if request.cpus == 1 else f"{request.cpus:g} cores"
    gpus = [f"{request.gpus:g} GPUs"] if request.gpus else []
    memory = [f"{request.memory / 2**20:,.0f} MiB of memory"] if request.memory else []
    return " and ".join([cores, *gpus, *memory])
