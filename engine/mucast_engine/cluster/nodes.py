"""The nodes of a cluster, as Ray lists them: which of them may get tasks, and what they can hold."""

from typing import Any, NamedTuple

from mucast_engine.arrays import Message

# The resource by which Ray marks the head.
HEAD = "node:__internal_head__"
LISTED = 10


class Node(NamedTuple):
    id: str
    name: str
    """Its address; if two nodes share one, part of the id follows."""
    cpus: float
    gpus: float
    memory_bytes: int

    @property
    def slots(self) -> int:
        """Tasks of one thread at a time."""
        return int(self.cpus)


class Needs(NamedTuple):
    """What a task reserves on its node."""

    cpus: float
    gpus: float
    memory: int
    """In bytes; 0 if that is not known."""
    node: str | None
    """The name of the only node that may run it."""

    def __str__(self) -> str:
        cores = "a core" if self.cpus == 1 else f"{self.cpus:g} cores"
        gpus = [f"{self.gpus:g} GPUs"] if self.gpus else []
        memory = [f"{self.memory / 2**20:,.0f} MiB of memory"] if self.memory else []
        return " and ".join([cores, *gpus, *memory])


class Nodes:
    """The members are the nodes that are alive and admitted."""

    def __init__(self) -> None:
        self.alive: dict[str, Node] = {}
        self.admitted: set[str] = set()
        self.excluded: dict[str, str] = {}
        """The reason by id. A node with a core is admitted, excluded, or new."""
        self.head = ""
        """Its id."""
        self.head_store_bytes = 0
        self._names: dict[str, str] = {}

    @property
    def members(self) -> list[Node]:
        return [self.alive[id] for id in sorted(self.admitted)]

    @property
    def slots(self) -> int:
        return sum(node.slots for node in self.members)

    @property
    def with_cores(self) -> list[str]:
        return [id for id, node in self.alive.items() if node.slots > 0]

    def name_of(self, id: str) -> str:
        """Also of a node that is gone."""
        return self._names.get(id, f"node {id[:8]}")

    def update(self, rows: list[dict[str, Any]]) -> list[str]:
        """Reads Ray's list. Returns the names of the members that are gone."""
        rows = sorted((row for row in rows if row["Alive"]), key=lambda row: str(row["NodeID"]))
        addresses = [row["NodeManagerAddress"] for row in rows]
        self.alive = {}
        for row in rows:
            id, address, resources = row["NodeID"], row["NodeManagerAddress"], row["Resources"]
            name = address if addresses.count(address) == 1 else f"{address} ({id[:8]})"
            name = self._names.setdefault(id, name)
            cpus, gpus = float(resources.get("CPU", 0)), float(resources.get("GPU", 0))
            self.alive[id] = Node(id, name, cpus, gpus, int(resources.get("memory", 0)))
            if HEAD in resources:
                self.head, self.head_store_bytes = id, int(resources.get("object_store_memory", 0))
        gone = sorted(self.admitted - self.alive.keys())
        self.admitted &= self.alive.keys()
        self.excluded = {id: why for id, why in self.excluded.items() if id in self.alive}
        return [self.name_of(id) for id in gone]

    def admit(self, id: str, why_not: str = "") -> None:
        """Admits a node, or excludes it for a reason."""
        self.admitted.discard(id)
        self.excluded.pop(id, None)
        if why_not:
            self.excluded[id] = why_not
        else:
            self.admitted.add(id)

    def can_hold(self, needs: Needs) -> bool:
        """Whether a member could take the task if it were idle."""
        return any(
            node.cpus >= needs.cpus
            and node.gpus >= needs.gpus
            and node.memory_bytes >= needs.memory
            and needs.node in (None, node.name)
            for node in self.members
        )


MACHINE_WORDS = {
    "processor": "the processor",
    "numpy_dispatch": "NumPy's kernels",
    "torch_capability": "PyTorch's kernels",
    "blas": "the BLAS",
}


def facts_of(greeting: Message) -> dict[str, str]:
    """All that decides bytes, in words. Pinned kernels are the same on every processor."""
    facts = {**greeting["versions"], "the engine": greeting["engine"][:12], "kernel level": greeting["kernel_level"]}
    facts |= {f"threads of {name}": count for name, count in greeting["threads"].items()}
    facts |= {MACHINE_WORDS[name]: value for name, value in greeting["machine"].items()}
    if greeting["kernel_level"] is not None:
        del facts["the processor"]
    return {what: str(value) for what, value in facts.items()}


def differences(facts: dict[str, str], expected: dict[str, str]) -> dict[str, str]:
    """By what differs, how."""
    return {
        what: f"{what} {facts.get(what, 'none')} instead of {value}"
        for what, value in expected.items()
        if facts.get(what) != value
    }


def listed(words: list[str], separator: str = ", ") -> str:
    more = f"{separator}and {len(words) - LISTED} more" if len(words) > LISTED else ""
    return f"{separator.join(words[:LISTED])}{more}"
