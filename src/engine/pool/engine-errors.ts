import { constants } from "node:os";
import type { ClusterEngine } from "../../contract/engine-url.ts";
import { ERROR_TABLE, type ErrorCode } from "../../contract/errors/error-codes.ts";
import { type ErrorData, MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { IMAGE_PYTHON } from "../environment/engine-status.ts";
import type { HostEnd } from "./host-process.ts";
import type { TaskFault } from "./network-protocol.ts";
import type { EngineFault, SlotEnd, WorkerEnd } from "./protocol.ts";
import type { PendingTask } from "./workers.ts";

/** The error that the engine ends a task with. */
export function taskError(pending: PendingTask, { code, message, data }: TaskFault): MucastError {
  return errorOf(pending, Object.hasOwn(ERROR_TABLE, code) ? (code as ErrorCode) : "internal", message, data);
}

/** The error of a task on which every attempt ended with the death of its worker. */
export function crashError(pending: PendingTask, isOnCluster: boolean): MucastError {
  const { attempts, deaths } = pending;
  const lost = isOnCluster ? "the cluster lost the task" : "the worker died";
  const message = `${lost} ${counted(attempts, "time")}: ${deaths.join("; ")}`;
  return errorOf(pending, "engine_crashed", message, { deaths });
}

function errorOf({ task }: PendingTask, code: ErrorCode, message: string, data: ErrorData): MucastError {
  const ticker = task.task === "train_network" ? task.ticker : task.label;
  const isOfTicker = ticker !== undefined && task.task !== "train_joint";
  const text = task.label === undefined ? message : `${task.label}: ${message}`;
  return new MucastError(code, text, isOfTicker ? { ...data, ticker } : data);
}

/** A host that ended before its greeting. */
export function startError(python: string, { reason, signal, wasKilled, stderrTail }: HostEnd): MucastError {
  const data = { source: python, stderr: stderrTail };
  if (signal !== null && !wasKilled) {
    // Without the path: a ticker's failure copies the message, and callers on other machines read it.
    const message = `the engine was ended by ${signal} while it started${signalHint(signal)}`;
    return new MucastError("engine_crashed", message, data);
  }
  // `-P`, which keeps foreign modules out, exists since the oldest Python that mucast supports.
  const isOld = /unknown option:? -P/i.test(stderrTail);
  const lastWords = isOld ? "it is older than Python 3.11" : stderrTail.split("\n").at(-1);
  const ending = lastWords ? `: ${lastWords}` : "";
  return unavailable(python, `the engine did not start with ${python} (${reason})${ending}`, data);
}

/** A gateway that ended before its greeting and gave no reason. */
export function gatewayStartError({ url }: ClusterEngine, python: string, end: HostEnd): MucastError {
  const message = `the gateway to ${url} ended before it was connected (${end.reason})`;
  const code = end.signal === null ? "engine_unavailable" : "engine_crashed";
  return new MucastError(code, message, { engine: url, source: python, stderr: end.stderrTail });
}

/** A host or gateway that ended while it had tasks, more than once. */
export function hostError(cluster: ClusterEngine | undefined, { reason, stderrTail }: HostEnd): MucastError {
  const name = cluster ? `the gateway to ${cluster.url}` : "the process that owns the workers";
  const data = { ...(cluster ? { engine: cluster.url } : {}), stderr: stderrTail };
  return new MucastError("engine_crashed", `${name} ended twice (${reason})`, data);
}

/** Why a cluster cannot be used, in its gateway's words. */
export function clusterError({ url }: ClusterEngine, { code = "", message, data }: EngineFault): MucastError {
  const known = code === "engine_crashed" ? code : "engine_unavailable";
  const text = message.includes(url) ? message : `${url}: ${message}`;
  return new MucastError(known, text, { ...data, engine: url });
}

/** A job was already computing there when its second gateway failed to connect. */
export function lostClusterError({ url }: ClusterEngine, why: MucastError): MucastError {
  const message = `the cluster ${url} was lost, and a new connection failed: ${why.message}`;
  return new MucastError("engine_crashed", message, { ...why.data, engine: url });
}

/** A gateway that replaced one that ended, and found other nodes. */
export function changedClusterError({ url }: ClusterEngine): MucastError {
  const message = `the cluster ${url} has other versions or processors than it had when the job began; run the job again`;
  return new MucastError("engine_crashed", message, { engine: url });
}

/** A worker that could not import a library. */
export function importError(python: string, message: string): MucastError {
  return unavailable(python, `the engine did not start with ${python}: ${message}`, { source: python });
}

function unavailable(python: string, message: string, data: ErrorData): MucastError {
  // Nothing can be installed in an image.
  const isImage = python === IMAGE_PYTHON && message.includes("No module named 'torch'");
  const advice =
    "This image has no PyTorch. Run the service, or the job, from the image `dl` of the Dockerfile, or from `dl-cpu` without a GPU (docs/deploying.md).";
  return new MucastError("engine_unavailable", message, isImage ? { ...data, advice } : data);
}

/** A phrase that says how a worker ended. */
export function endOf(end: WorkerEnd | SlotEnd): string {
  if ("reason" in end) {
    const { node, reason } = end;
    // The reason of a lost node names it.
    return node === null || reason.includes(node) ? reason : `${reason} (on the node ${node})`;
  }
  const { signal, exit_code } = end;
  if (signal === null) return `it ended with exit code ${exit_code}`;
  const names = Object.entries(constants.signals);
  const name = names.find(([, number]) => number === signal)?.[0] ?? `signal ${signal}`;
  return `it was ended by ${name}${signalHint(name)}`;
}

/** What is known about a process that this signal ended, as a clause to follow its name; signal(7). */
const SIGNAL_HINTS: Readonly<Record<string, string>> = {
  SIGKILL: "as happens where the machine's memory runs out",
  SIGSEGV: "as happens where a library uses memory that is not its own",
  SIGABRT: "as happens where a library gives up at an error that it does not handle",
  SIGBUS: "as happens where a file that it has mapped was cut, or its disk is full",
  SIGILL: "as happens where the processor lacks an instruction that a library was built for",
};

function signalHint(signal: string): string {
  const hint = Object.hasOwn(SIGNAL_HINTS, signal) ? SIGNAL_HINTS[signal] : undefined;
  return hint === undefined ? "" : `, ${hint}`;
}
