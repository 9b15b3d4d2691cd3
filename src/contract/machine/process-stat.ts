import { readFileSync } from "node:fs";

/**
 * When a process started, in clock ticks since boot (field 22 of /proc/pid/stat). Pid and start time together identify a process. "0" if
 * the system has no /proc and the process is alive; undefined if no such process runs. A zombie (state Z or X) counts as ended.
 */
export function startTimeOf(pid: number): string | undefined {
  if (process.platform !== "linux") return takesSignals(pid) ? "0" : undefined;
  return fieldsOf(pid)?.[START];
}

export function isRunning(pid: number): boolean {
  return startTimeOf(pid) !== undefined;
}

/**
 * Whether a process is stopped, as by SIGSTOP, on Linux. A process under a debugger (state t) does not count, nor does one that cannot be
 * looked up.
 */
export function isStopped(pid: number): boolean {
  try {
    return fieldsOf(pid)?.[STATE] === "T";
  } catch {
    return false;
  }
}

/** The session of a running process, on Linux; undefined if no such process is running. */
export function sessionOf(pid: number): number | undefined {
  const session = fieldsOf(pid)?.[SESSION];
  return session === undefined ? undefined : Number(session);
}

/** Indices into the fields of /proc/pid/stat after the program's name; 0 is the state. */
const [STATE, SESSION, START] = [0, 3, 19];

function fieldsOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name is in parentheses and may contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return /[ZX]/i.test(fields[STATE]!) ? undefined : fields;
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

function takesSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Changes with every boot of the machine; empty on systems other than Linux. */
export function bootId(): string {
  if (process.platform !== "linux") return "";
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}
