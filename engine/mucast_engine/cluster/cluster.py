"""A cluster through Ray's client: its nodes, the arrays in its object store, and the tasks that it runs.

Ray's client blocks, so it is called on other threads than the loop's. Ray's calls are untyped.
"""

import asyncio
import os
import re
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mucast_engine.arrays import ArrayRef, ArrayStore, Message
from mucast_engine.cluster import node
from mucast_engine.cluster.connect import ClusterError
from mucast_engine.cluster.node_engine import engine_digest
from mucast_engine.cluster.nodes import LISTED, MACHINE_WORDS, Needs, Nodes, differences, facts_of, listed
from mucast_engine.failure import sentence_of
from mucast_engine.libraries import library_versions

# The head, and with it the cluster, is lost if it takes so long to list the nodes.
CONTACT_SECONDS = 30.0
# Nodes that have not answered the inspection by then get no tasks until they do; the job waits longer for the first.
INSPECTION_SECONDS = 150.0
FIRST_ANSWER_SECONDS = 630.0
# A task runs twice at most. Ray does not count the times that it ends a task for want of memory.
MAX_STARTS = 2
# The share of the head's object store for arrays that later tasks may need.
KEPT_SHARE = 0.5
# Of a GPU, for the task that only asks whether there is one.
GPU_INQUIRY = 0.01
# Those of the gateway's environment that processes on nodes get: what decides threads and kernels.
VARIABLES = re.compile(r"(OMP|OPENBLAS|MKL|NPY|ATEN|MUCAST)_")
NO_NODE = 56 * "0"
NODE_LOST = "the node was lost"
# Why a task has no answer, by the names of Ray's exceptions.
ENDINGS = {
    "NodeDiedError": "its node was lost",
    "LocalRayletDiedError": "its node was lost",
    "WorkerCrashedError": "its process was killed, or its node was lost",
}


@dataclass(eq=False)
class Run:
    """An attempt at a task of the pool."""

    id: int
    kind: str
    task: bytes
    refs: list[ArrayRef]
    """The arrays that it reads, each once."""
    needs: Needs
    ref: Any = None
    """Ray's reference, once Ray has the task."""
    starts: int = 0
    node: str | None = None
    """The id of the node that it was last started on."""
    emitted: int = 0
    """The number of its progress messages that the pool has."""
    killed: bool = False


class Cluster:
    def __init__(self, ray: Any, libraries: list[str], folder: Path, say: Callable[[str], None]) -> None:
        """`ray` is connected; `say` gets lines for the job's log."""
        from ray import cloudpickle

        cloudpickle.register_pickle_by_value(node)
        self.ray, self.nodes = ray, Nodes()
        self.facts: dict[str, str] = {}
        """Of all members; empty before they have been inspected."""
        self._libraries, self._folder, self._say = libraries, folder, say
        self._store = ArrayStore(folder)
        self.mailbox: Any = None
        """Ray's queue, an actor on the head: tasks report there that they start, and their progress."""
        self._kept: OrderedDict[tuple[str, int, int, int], tuple[Any, int]] = OrderedDict()
        """Arrays in the cluster and their bytes, by the files' names and identities."""
        self._sending = ThreadPoolExecutor(1)
        variables = {name: value for name, value in os.environ.items() if VARIABLES.match(name)}
        again: dict[str, Any] = {"max_retries": MAX_STARTS - 1, "retry_exceptions": True}
        again["runtime_env"] = {"env_vars": variables}
        self._inspect_node = ray.remote(num_cpus=0, **again)(node.inspect_node)
        self._run_task = ray.remote(**again)(node.run_task)
        # A process keeps the GPUs that it began with, so it runs one task, and is none that began without them.
        again["runtime_env"] = {"env_vars": {**variables, "MUCAST_GPU": "1"}}
        self._run_on_gpu = ray.remote(max_calls=1, num_gpus=1, **again)(node.run_task)

    async def look(self) -> list[str]:
        """Reads Ray's list of nodes; returns the members that are gone. Raises TimeoutError if the cluster is lost."""
        rows = await asyncio.wait_for(asyncio.to_thread(self.ray.nodes), CONTACT_SECONDS)
        return self.nodes.update(rows)

    async def inspect_all(self) -> Message:
        """Inspects all nodes with cores, and admits those that answer in time. Returns their greeting, with the
        variables of the head by which Ray decides that a node is lost.

        Raises ClusterError if the engine does not start on one of them, or they would not give the same bytes.
        """
        from ray.util.queue import Queue

        head = self.on_node(self.nodes.head)
        self.mailbox = await self.in_order(lambda: Queue(actor_options={"num_cpus": 0, **head}))
        health = self.ray.remote(num_cpus=0)(
            lambda: {key: value for key, value in os.environ.items() if key.startswith(("RAY_health_", "RAY_grpc_"))}
        )
        variables = health.options(**head).remote()
        asked = {asyncio.ensure_future(self.inspect(id)): id for id in self.nodes.with_cores}
        done, waiting = await asyncio.wait(asked, timeout=INSPECTION_SECONDS)
        names = listed(sorted(self.nodes.name_of(asked[one]) for one in waiting))
        if waiting:
            self._say(f"the engine is still starting on {names}")
        if not done:
            seconds = FIRST_ANSWER_SECONDS - INSPECTION_SECONDS
            done, waiting = await asyncio.wait(asked, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise ClusterError(f"no answer within {FIRST_ANSWER_SECONDS:.0f} s from {names}")
        await self.look()
        answers = {asked[one]: one.result() for one in done if asked[one] in self.nodes.alive}
        greetings = {id: answer for id, answer in answers.items() if isinstance(answer, dict)}
        faults = [f"{self.nodes.name_of(id)}: {why}" for id, why in answers.items() if isinstance(why, str)]
        if not greetings or any(NODE_LOST not in fault for fault in faults):
            raise ClusterError(f"the engine does not start on a node of the cluster: {listed(faults, '; ')}")
        self._require_agreement({self.nodes.name_of(id): facts_of(greeting) for id, greeting in greetings.items()})
        for id in greetings:
            self.nodes.admit(id)
        greeting = next(iter(greetings.values()))
        self.facts = facts_of(greeting)
        return {**greeting, "variables": await result_of(variables)}

    async def inspect(self, id: str) -> Message | str:
        """The greeting of a node, or why there is none."""
        inspect = self._inspect_node.options(**self.on_node(id)).remote
        try:
            found: Message = await result_of(await self.in_order(inspect, self._libraries))
        except self.ray.exceptions.RayTaskError as error:
            return last_words(error)
        except self.ray.exceptions.RayError:
            return NODE_LOST
        return found

    def _require_agreement(self, facts: dict[str, dict[str, str]]) -> None:
        """`facts` by node: the libraries and the engine are those of this machine, and all else is equal."""
        here = {**library_versions(self._libraries), "the engine": engine_digest()[:12]}
        expected = next(iter(facts.values())) | here
        found = {name: differ for name, one in facts.items() if (differ := differences(one, expected))}
        if not found:
            return
        advice = "install the same lock and engine on every node, such as by the node image"
        kinds = {what for differ in found.values() for what in differ}
        if kinds <= set(MACHINE_WORDS.values()) and expected["kernel level"] == "None":
            advice = "with --portable all of them compute with the same kernels"
        words = [f"{name} has {', '.join(differ.values())}" for name, differ in found.items()]
        message = f"the cluster would not give the same bytes: {listed(words, '; ')}; {advice}"
        raise ClusterError(message, nodes=list(found)[:LISTED], differences=words[:LISTED])

    def judge(self, id: str, answer: Message | str) -> str:
        """Admits a node that came later, or excludes it and returns why."""
        why = f"the engine does not start on it: {answer}" if isinstance(answer, str) else ""
        if isinstance(answer, dict) and (differ := differences(facts_of(answer), self.facts)):
            why = f"it would not give the same bytes: it has {', '.join(differ.values())}"
        self.nodes.admit(id, why)
        return why

    def on_node(self, id: str) -> dict[str, Any]:
        """Options of what has to run on that node."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node_id=id, soft=False)}

    async def in_order(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Calls it on the thread that sends."""
        return await asyncio.get_running_loop().run_in_executor(self._sending, call, *arguments)

    def send(self, run: Run) -> None:
        """Sends the arrays that the cluster does not have, and the task, unless it is killed meanwhile."""
        values = []
        for ref in run.refs:
            if run.killed:
                return
            values.append(self._put(ref))
        members = self.nodes.members
        cpus = min(run.needs.cpus, max((one.slots for one in members), default=1))
        is_inquiry = run.kind == "device" and any(one.gpus for one in members)
        run.needs = run.needs._replace(cpus=cpus, gpus=GPU_INQUIRY if is_inquiry else run.needs.gpus)
        options: dict[str, Any] = {"name": f"mucast {run.id}", "num_cpus": cpus, "num_gpus": run.needs.gpus}
        if run.needs.memory:
            options["memory"] = run.needs.memory
        if run.needs.node is not None:
            options |= self.on_node(next((one.id for one in members if one.name == run.needs.node), NO_NODE))
        elif avoided := [id for id in self.nodes.with_cores if id not in self.nodes.admitted]:
            options["label_selector"] = {"ray.io/node-id": f"!in({','.join(avoided)})"}
        remote = (self._run_on_gpu if run.needs.gpus else self._run_task).options(**options).remote
        request = {"id": run.id, "task": run.task, "refs": run.refs, "libraries": self._libraries, "facts": self.facts}
        run.ref = remote(request, self.mailbox.actor, *values)

    def _put(self, ref: ArrayRef) -> Any:
        """Ray's reference to an array. It is sent once, to the head's store, and a lost node has no part of it.

        A file that is written anew under the same name is another array.
        """
        array = self._store.read(ref)
        status = (self._folder / ref["ref"]).stat()
        key = (ref["ref"], status.st_ino, status.st_mtime_ns, status.st_size)
        if key not in self._kept:
            self._kept[key] = (self.ray.put(array), array.nbytes)
        self._kept.move_to_end(key)
        most = KEPT_SHARE * self.nodes.head_store_bytes
        while len(self._kept) > 1 and sum(size for _, size in self._kept.values()) > most:
            self._kept.popitem(last=False)  # Tasks that use it keep it.
        return self._kept[key][0]

    def ending_of(self, error: Exception) -> str:
        if isinstance(error, self.ray.exceptions.RayTaskError):
            return f"it could not run: {last_words(error)}"
        return ENDINGS.get(type(error).__name__, f"it could not run: {sentence_of(error)}")


async def result_of(ref: Any) -> Any:
    """What Ray's reference stands for; raises what its task has raised."""
    return await asyncio.wrap_future(ref.future())


def last_words(error: Exception) -> str:
    """The cause of an exception on a node, without the traceback that Ray shows before it."""
    return sentence_of(str(error).strip().split("\n")[-1])
