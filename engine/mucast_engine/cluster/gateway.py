"""The host's place for a job on a cluster: requests come as lines on stdin, tasks go to Ray, answers go to stdout.

One asyncio loop owns all state. The end of stdin ends the gateway, whether the cluster answers or not.
"""

import asyncio
import contextlib
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, Literal

from mucast_engine.arrays import ArrayRef, ArrayStore, Message
from mucast_engine.cluster.cluster import MAX_STARTS, NODE_LOST, Cluster, Run, result_of
from mucast_engine.cluster.connect import ClusterError, connect
from mucast_engine.cluster.nodes import Needs, listed
from mucast_engine.failure import TaskError, sentence_of, unknown

# Unlike a host, a gateway gets no `import`.
Op = Literal["start", "task", "kill"]

# Between two reads of what tasks report, and of Ray's list of nodes.
POLL_SECONDS = 0.1
LOOK_SECONDS = 1.0
# How long a job waits for a node that can run its tasks, and after how long the log says that it waits.
PLACEMENT_SECONDS = 300.0
DELAYED_SECONDS = 10.0
# Between two lines of the log about tasks that wait for a core.
DELAYED_AGAIN_SECONDS = 60.0
# A cancel has no effect before a node has the task, so it is repeated each second. If the task has not ended by then,
# its slot ends without it.
CANCEL_SECONDS = 3
LEAVE_SECONDS = 4.0
# The exit code of a gateway that has lost its connection; the pool starts another one, once.
LOST = 3

CANCELED = "it was canceled"
OVER_MEMORY = "it was over the memory of its node"


def run(stdin: int, stdout: int, libraries: list[str], folder: Path, url: str, insecure: bool, seconds: float) -> None:
    """Serves until stdin ends; the cluster may take `seconds` to answer."""
    gateway = Gateway(stdout, libraries, folder)
    asyncio.new_event_loop().run_until_complete(gateway.serve(stdin, url, insecure, seconds))


class Gateway:
    def __init__(self, stdout: int, libraries: list[str], folder: Path) -> None:
        self._stdout, self._libraries, self._folder = stdout, libraries, folder
        self._store = ArrayStore(folder)
        self._cluster: Cluster
        """Once it is connected."""
        self._is_ready = self._is_over = False
        self._runs: dict[int, Run | None] = {}
        """By slot; None for a slot without a task."""
        self._works: set[asyncio.Task[None]] = set()
        self._gone: dict[str, str] = {}
        """Why nodes were lost, by name."""
        self._free_at = self._placed_at = time.monotonic()
        """When no task waited for a core that is busy, and when some member could hold each task, last."""
        self._told_at = -DELAYED_AGAIN_SECONDS
        self._told_needs: Needs | None = None

    async def serve(self, stdin: int, url: str, insecure: bool, seconds: float) -> None:
        loop, closed = asyncio.get_running_loop(), asyncio.Event()

        def read() -> None:
            with os.fdopen(stdin, "rb") as requests:
                for line in requests:
                    loop.call_soon_threadsafe(self._take, line)
            loop.call_soon_threadsafe(closed.set)

        threading.Thread(target=read, daemon=True).start()
        self._spawn(self._live(url, insecure, seconds))
        await closed.wait()
        self._is_over = True
        if hasattr(self, "_cluster"):
            leaving = asyncio.to_thread(self._cluster.ray.shutdown)
            await asyncio.wait([asyncio.ensure_future(leaving)], timeout=LEAVE_SECONDS)

    def _take(self, line: bytes) -> None:
        """A request of the pool: its JSON, and after a tab the task's."""
        header, _, task = line.rstrip(b"\n").partition(b"\t")
        request = json.loads(header)
        op: Op = request["op"]
        worker = request["worker"]
        if op != "start" and worker not in self._runs:
            return  # The pool is told when a slot ends, and retries its task.
        match op:
            case "start":
                self._runs[worker] = None
                self._emit({"event": "worker_started", "worker": worker})
            case "task":
                run = self._runs[worker] = read_task(request, task)
                self._spawn(self._work(worker, run))
            case "kill":
                killed = self._runs[worker]
                if killed is None:
                    self._end_slot(worker, None, CANCELED)
                else:
                    killed.killed = True
                    if killed.ref is not None:
                        self._spawn(self._cancel(worker, killed))
            case _:
                raise unknown("request", op)

    def _emit(self, message: Message) -> None:
        view = memoryview(json.dumps(message, allow_nan=False).encode() + b"\n")
        while view:
            view = view[os.write(self._stdout, view) :]

    def _say(self, message: str, id: int | None = None) -> None:
        """A line for the job's log."""
        self._emit({"event": "delayed", "message": message, **({} if id is None else {"id": id})})

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._works.add(task)
        task.add_done_callback(self._on_done)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        """A cluster that cannot be used is reported, and the pool ends stdin; a lost one ends this process."""
        self._works.discard(task)
        error = task.exception()
        if error is None or self._is_over:
            return
        if not isinstance(error, ClusterError):
            if self._is_ready:
                print(f"the connection to the cluster was lost: {sentence_of(error)}", file=sys.stderr, flush=True)
                os._exit(LOST)
            if isinstance(error, ConnectionError | TimeoutError):
                error = ClusterError(f"the connection was lost while the nodes were inspected: {sentence_of(error)}")
            else:
                traceback.print_exception(error, file=sys.stderr)
                error = ClusterError(f"the gateway could not connect: {sentence_of(error)}", "engine_crashed")
        self._is_over = True
        self._emit({"event": "failed", "code": error.code, "message": error.message, "data": error.data})

    async def _live(self, url: str, insecure: bool, seconds: float) -> None:
        """Connects, inspects the nodes, greets, and then follows the nodes."""
        started = time.perf_counter()
        ray = await asyncio.to_thread(connect, url, insecure, seconds)
        cluster = self._cluster = Cluster(ray, self._libraries, self._folder, self._say)
        await cluster.look()
        # An autoscaler sees that a core is needed.
        demand = None if cluster.nodes.with_cores else ray.remote(num_cpus=1)(lambda: None).remote()
        while not cluster.nodes.with_cores:
            self._check_waiting(time.monotonic())
            await asyncio.sleep(LOOK_SECONDS)
            await cluster.look()
        del demand
        greeting = await cluster.inspect_all()
        nodes = [
            {"name": node.name, "cpus": node.cpus, "gpus": node.gpus, "memory_bytes": node.memory_bytes}
            for node in cluster.nodes.members
        ]
        described = {"address": url, "ray": ray.__version__, "nodes": nodes, "variables": greeting["variables"]}
        self._is_ready = True
        self._emit(
            {
                "event": "ready",
                **{name: greeting[name] for name in ("versions", "threads", "kernel_level", "machine")},
                "start": "cluster",
                "import_seconds": time.perf_counter() - started,
                "slots": cluster.nodes.slots,
                "cluster": described,
            }
        )
        self._spawn(self._follow_progress())
        while True:
            for id in cluster.nodes.with_cores:
                if id not in cluster.nodes.admitted and id not in cluster.nodes.excluded:
                    cluster.nodes.admit(id, "it has not answered yet")
                    self._spawn(self._inspect(id))
            self._check_waiting(time.monotonic())
            await asyncio.sleep(LOOK_SECONDS)
            self._tell_slots([], dict.fromkeys(await cluster.look(), NODE_LOST))

    async def _inspect(self, id: str) -> None:
        """Of a node that joined later, or has not answered the first inspection."""
        self._judge(id, await self._cluster.inspect(id))

    def _judge(self, id: str, answer: Message | str) -> None:
        if id in self._cluster.nodes.alive:
            name, why = self._cluster.nodes.name_of(id), self._cluster.judge(id, answer)
            self._tell_slots([] if why else [name], {name: why} if why else {})

    def _tell_slots(self, added: list[str], lost: dict[str, str]) -> None:
        if added or lost:
            self._gone = {name: why for name, why in {**self._gone, **lost}.items() if name not in added}
            gone = [{"name": name, "reason": why} for name, why in lost.items()]
            self._emit({"event": "slots", "slots": self._cluster.nodes.slots, "added": added, "lost": gone})

    async def _work(self, worker: int, run: Run) -> None:
        """One task, from the sending of its arrays to its answer or the end of its slot."""
        message: Message = {}
        ending = ""
        try:
            answer = await self._compute(worker, run)
            if not run.killed:
                self._tell_progress(run, 0, answer["updates"])
                for name, values in answer["arrays"].items():
                    self._store.write(name, values)
                message = answer["message"]
        except TaskError as error:  # An array cannot be read or written here.
            message = {"event": "error", "code": error.code, "message": error.message, "data": error.data}
        except self._cluster.ray.exceptions.RayError as error:
            ending = self._cluster.ending_of(error)
        if run.killed:
            self._end_slot(worker, run, CANCELED)
        elif ending:
            self._end_slot(worker, run, ending, MAX_STARTS)
        elif self._runs.get(worker) is run:
            self._runs[worker] = None
            self._emit({"id": run.id, **message})

    async def _compute(self, worker: int, run: Run) -> Message:
        """What a node answers; nothing if the task is killed before it is sent."""
        while True:
            await self._cluster.in_order(self._cluster.send, run)
            if run.ref is None:
                return {}
            if run.killed:
                self._spawn(self._cancel(worker, run))
            answer: Message = await result_of(run.ref)
            if "greeting" not in answer:
                return answer
            # A node that joined a moment ago, and has not been inspected.
            run.ref, run.starts, run.node = None, 0, None
            self._judge(answer["node"], answer["greeting"])

    async def _cancel(self, worker: int, run: Run) -> None:
        for _ in range(CANCEL_SECONDS):
            # It is repeated, and a lost connection is noticed elsewhere.
            with contextlib.suppress(Exception):
                await asyncio.to_thread(self._cluster.ray.cancel, run.ref, force=True, recursive=False)
            await asyncio.sleep(1)
            if self._runs.get(worker) is not run:
                return
        self._end_slot(worker, run, f"{CANCELED}; its node does not answer")

    def _end_slot(self, worker: int, run: Run | None, reason: str, attempts: int = 1) -> None:
        if self._runs.get(worker, 0) is run:
            del self._runs[worker]
            node = None if run is None or run.node is None else self._cluster.nodes.name_of(run.node)
            ending = {"node": node, "reason": reason, "attempts": attempts}
            self._emit({"event": "worker_exited", "worker": worker, **ending})

    async def _follow_progress(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            mailbox = self._cluster.mailbox
            count = await asyncio.to_thread(mailbox.size)
            letters = await asyncio.to_thread(mailbox.get_nowait_batch, count) if count else []
            runs = {run.id: (worker, run) for worker, run in self._runs.items() if run is not None}
            for id, node, first, updates in letters:
                if id in runs:
                    worker, run = runs[id]
                    if not updates:
                        self._on_started(worker, run, node)
                    self._tell_progress(run, first, updates)

    def _on_started(self, worker: int, run: Run, node: str) -> None:
        run.starts += 1
        run.node = node
        if run.starts > MAX_STARTS:
            self._end_slot(worker, run, OVER_MEMORY, MAX_STARTS)
            self._spawn(self._cancel(worker, run))
        elif run.starts > 1 and not run.killed:
            self._say(f"its first attempt was lost, and it runs again on {self._cluster.nodes.name_of(node)}", run.id)

    def _tell_progress(self, run: Run, first: int, updates: list[Message]) -> None:
        """Passes on what no attempt has reported yet; `updates` are one attempt's from the number `first` on."""
        if not run.killed:
            fresh = updates[max(0, run.emitted - first) :]
            run.emitted += len(fresh)
            for update in fresh:
                self._emit({**update, "id": run.id, "event": "progress"})

    def _check_waiting(self, now: float) -> None:
        """The log says what tasks wait for. Raises ClusterError if no node can hold one for PLACEMENT_SECONDS."""
        nodes = self._cluster.nodes
        runs = [run for run in self._runs.values() if run is not None and not run.killed]
        waiting = [run for run in runs if run.node not in nodes.alive]
        wanted = [run.needs for run in waiting] if nodes.slots > 0 else [Needs(1, 0, 0, None)]
        needs = next((one for one in wanted if not nodes.can_hold(one)), None)
        if needs is None:
            self._placed_at = now
        elif now - self._placed_at > PLACEMENT_SECONDS:
            lost = listed([f"{name}: {why}" for name, why in self._gone.items()], "; ")
            raise ClusterError(
                f"no node of the cluster can hold a task that needs {needs}, for {PLACEMENT_SECONDS:.0f} s"
                f"{f' ({lost})' if lost else ''}",
                cpus=needs.cpus,
                gpus=needs.gpus,
                memory_bytes=needs.memory,
            )
        elif now - self._placed_at > DELAYED_SECONDS and needs != self._told_needs:
            self._say(f"a task waits for a node that has {needs} (for {PLACEMENT_SECONDS:.0f} s at most)")
        self._told_needs = needs if now - self._placed_at > DELAYED_SECONDS else None
        running = sum(run.needs.cpus for run in runs if run.node in nodes.alive)
        if not waiting or running >= nodes.slots or nodes.slots == 0:
            self._free_at = now
        elif now - self._free_at > DELAYED_SECONDS and now - self._told_at > DELAYED_AGAIN_SECONDS:
            self._told_at = now
            self._say(f"a task waits for {waiting[0].needs} to be free", waiting[0].id)


def read_task(request: Message, text: bytes) -> Run:
    """`request` says what the task needs beyond one core; `text` is its JSON, which goes to the node as it came."""
    task = json.loads(text)
    refs = {ref["ref"]: ref for ref in arrays_of(task)}
    needs = Needs(request.get("cpus", 1), request.get("gpus", 0), request.get("memory", 0), request.get("node"))
    return Run(request["id"], task["task"], text, list(refs.values()), needs)


def arrays_of(part: Any) -> Iterator[ArrayRef]:
    """Every ArrayRef within a task."""
    if isinstance(part, list):
        for entry in part:
            yield from arrays_of(entry)
    elif isinstance(part, dict):
        if part.keys() == ArrayRef.__annotations__.keys():
            yield ArrayRef(ref=part["ref"], dtype=part["dtype"], shape=part["shape"], order=part["order"])
        else:
            for entry in part.values():
                yield from arrays_of(entry)
