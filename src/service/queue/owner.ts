import { randomUUID } from "node:crypto";
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { startTimeOf } from "../../contract/machine/process-stat.ts";
import { bootId } from "../lock/holder.ts";

/** Names this service and its process, so that another one on this machine can tell when it is gone. */
export function newOwner(): string {
  return [machine(), process.pid, startTimeOf(process.pid), randomUUID()].join("/");
}

/** Whether the process of an owner is known to be gone; of one on another machine nothing is known. */
export function isGone(owner: string): boolean {
  const [where, pid, start] = owner.split("/");
  return where === machine() && startTimeOf(Number(pid)) !== start;
}

/** Where pids mean the same processes: a start of a machine, or of a container on it. */
function machine(): string {
  const namespace = process.platform === "linux" ? readlinkSync("/proc/self/ns/pid") : "";
  return [hostname(), bootId(), namespace].join(",").replaceAll("/", "_");
}
