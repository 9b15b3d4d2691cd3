"""Whether the nodes would give the same bytes: the same libraries, engine, threads and kernels."""

from typing import Any

from mucast_engine.cluster.fault import ClusterError, unavailable
from mucast_engine.cluster.node import fingerprint

Greeting = dict[str, Any]

# The level that kernels can be pinned to, and NumPy's name for it.
LEVELS = {"x86-64-v3": "X86_V3"}


def agreed(greetings: dict[str, Greeting], versions: dict[str, str], engine: str) -> Greeting:
    """The greeting that all nodes share; `greetings` are by the nodes' names.

    `versions` (without Python's) and `engine` are those of this machine. Raises ClusterError, which lists every
    difference: that of a library or of the engine before one of processors.
    """
    differences = [
        difference
        for name, greeting in greetings.items()
        for difference in _from_here(name, greeting, versions, engine)
    ]
    if differences:
        raise _refused(differences, "install the same lock and engine on every node, such as by the node image")
    (first, greeting), *others = sorted(greetings.items())
    differences = [difference for name, other in others for difference in _between(first, greeting, name, other)]
    if differences:
        raise _refused(differences, _advice(differences, greeting))
    _require_level(greetings)
    return greeting


def differences_from(name: str, greeting: Greeting, shared: Greeting) -> list[dict[str, str]]:
    """In what a node that came later differs from the `shared` greeting; empty where it may take tasks."""
    return (
        []
        if fingerprint(greeting) == fingerprint(shared)
        else list(_between("the other nodes", shared, name, greeting))
    )


def in_words(differences: list[dict[str, str]]) -> str:
    said = [f"{one['node']} has {one['what']} {one['found']}, {one['other']} {one['expected']}" for one in differences]
    return "; ".join(said[:LISTED]) + (f"; and {len(said) - LISTED} more" if len(said) > LISTED else "")


LISTED = 10


def _from_here(name: str, greeting: Greeting, versions: dict[str, str], engine: str) -> list[dict[str, str]]:
    found = [
        _difference(name, library, greeting["versions"].get(library), "this machine", version)
        for library, version in versions.items()
        if greeting["versions"].get(library) != version
    ]
    if greeting["engine"] != engine:
        found.append(_difference(name, "the engine", greeting["engine"][:12], "this machine", engine[:12]))
    return found


def _between(name: str, greeting: Greeting, other: str, others: Greeting) -> list[dict[str, str]]:
    mine, theirs = _facts(greeting), _facts(others)
    return [
        _difference(other, what, theirs.get(what), name, mine.get(what))
        for what in dict.fromkeys([*mine, *theirs])
        if mine.get(what) != theirs.get(what)
    ]


def _facts(greeting: Greeting) -> dict[str, str]:
    """All that the fingerprint is of, in words."""
    machine = dict(greeting["machine"])
    if greeting["kernel_level"] is not None:
        del machine["processor"]
    facts = {**greeting["versions"], "the engine": greeting["engine"][:12], "kernel level": greeting["kernel_level"]}
    facts |= {f"threads of {name}": count for name, count in greeting["threads"].items()}
    facts |= {MACHINE_WORDS.get(name, name): value for name, value in machine.items()}
    return {what: _shown(value) for what, value in facts.items()}


MACHINE_WORDS = {
    "processor": "the processor",
    "numpy_dispatch": "NumPy's kernels",
    "torch_capability": "PyTorch's kernels",
    "blas": "the BLAS",
}


def _shown(value: object) -> str:
    if isinstance(value, list):
        return " ".join(str(entry) for entry in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(entry)}" for name, entry in value.items()) or "none"
    return str(value)


def _difference(node: str, what: str, found: str | None, other: str, expected: str | None) -> dict[str, str]:
    return {
        "node": node,
        "what": what,
        "found": found or "none",
        "other": other,
        "expected": expected or "none",
    }


def _advice(differences: list[dict[str, str]], greeting: Greeting) -> str:
    only_kernels = all(one["what"] in MACHINE_WORDS.values() for one in differences)
    if only_kernels and greeting["kernel_level"] is None:
        return "with --portable all of them compute with the same kernels"
    return "install the same lock and engine on every node, such as by the node image"


def _require_level(greetings: dict[str, Greeting]) -> None:
    for name, greeting in greetings.items():
        kernels = LEVELS.get(greeting["kernel_level"] or "")
        if kernels is not None and kernels not in greeting["machine"]["numpy_dispatch"]:
            raise unavailable(
                f"portable (--portable) pins the kernels to {greeting['kernel_level']}, which the processor of {name} "
                "is not; run the job without that node",
                node=name,
            )


def _refused(differences: list[dict[str, str]], advice: str) -> ClusterError:
    nodes = list(dict.fromkeys(one["node"] for one in differences))
    message = f"the cluster would not give the same bytes: {in_words(differences)}; {advice}"
    return unavailable(message, nodes=nodes[:LISTED], differences=differences[:LISTED])
