import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/**
 * When a process started, in clock ticks since boot (field 22 of /proc/pid/stat), which identifies it with its pid. "0" if the system has
 * no /proc and it is alive; undefined if no such process runs. A zombie (state Z or X) counts as ended.
 */
export function startTimeOf(pid: number): string | undefined {
  if (process.platform === "linux") return fieldsOf(pid)?.[START];
  try {
    process.kill(pid, 0);
    return "0";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "0" : undefined;
  }
}

export function isRunning(pid: number): boolean {
  return startTimeOf(pid) !== undefined;
}

export function sessionOf(pid: number): number | undefined {
  const session = fieldsOf(pid)?.[SESSION];
  return session === undefined ? undefined : Number(session);
}

/** Indices into the fields of /proc/pid/stat after the program's name; 0 is the state. */
const [STATE, SESSION, START] = [0, 3, 19];

function fieldsOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return /[ZX]/i.test(fields[STATE]!) ? undefined : fields;
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

/** Changes with every boot of the machine; empty on systems other than Linux. */
export function bootId(): string {
  if (process.platform !== "linux") return "";
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** Identifies a process among all that share a folder, by machine, pid and start time: `<machine>-<pid>-<start>`. */
export function processMark(): string {
  return `${machine()}-${process.pid}-${startTimeOf(process.pid) ?? 0}`;
}

/** @returns true if the process of a mark was one of this machine and is not running any more. */
export function isGone(mark: string): boolean {
  const [, pid, start] = mark.split("-");
  return isOfThisMachine(mark) && startTimeOf(Number(pid)) !== start;
}

/** Whether the process of a mark is, or was, one of this boot and namespace. */
export function isOfThisMachine(mark: string): boolean {
  return mark.split("-")[0] === machine();
}

let known: string | undefined;

/** Pids are meaningful only within one boot and one namespace: containers may share a folder, but not a pid. */
function machine(): string {
  if (known !== undefined) return known;
  const facts = [hostname()];
  try {
    facts.push(bootId(), process.platform === "linux" ? readlinkSync("/proc/self/ns/pid") : "");
  } catch {
    // A sandbox may hide the files; the other facts identify the machine well enough.
  }
  known = createHash("sha256").update(facts.join("\n")).digest("hex").slice(0, 8);
  return known;
}
