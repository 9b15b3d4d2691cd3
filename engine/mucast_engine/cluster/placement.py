"""Which nodes of the cluster a task may go to, and what it reserves there."""

from mucast_engine.cluster.nodes import Membership
from mucast_engine.cluster.requests import TaskRequest
from mucast_engine.cluster.runs import Run

# Of a GPU, for the task that only asks whether there is one.
GLANCE = 0.01


def fitted(membership: Membership, run: Run) -> TaskRequest:
    """No more cores than the largest node has now; a look for GPUs goes to a node that has one.

    A task that Ray ended for want of memory gets a whole node: Ray ends all tasks of a node, whichever holds it.
    """
    asked = run.asked
    if not membership.members:
        return asked
    most = float(int(membership.most_cpus))
    gpus = asked.gpus
    if asked.kind == "device" and gpus == 0 and any(node.gpus for node in membership.members):
        gpus = GLANCE
    return asked._replace(cpus=most if run.needs_whole_node else min(asked.cpus, most), gpus=gpus)


def avoided(membership: Membership, request: TaskRequest) -> frozenset[str]:
    """The ids of the nodes that it may not go to, as things are."""
    if request.node is None:
        return membership.avoid
    return membership.avoid | {node.id for node in membership.members if node.name != request.node}


def needs(request: TaskRequest) -> str:
    """In words."""
    cores = "a core" if request.cpus == 1 else f"{request.cpus:g} cores"
    gpus = [f"{request.gpus:g} GPUs"] if request.gpus else []
    memory = [f"{request.memory / 2**20:,.0f} MiB of memory"] if request.memory else []
    return " and ".join([cores, *gpus, *memory])
