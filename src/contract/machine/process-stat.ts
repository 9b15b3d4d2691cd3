import { readFileSync } from "node:fs";

/**
 * When a process started, in clock ticks since boot (field 22 of /proc/pid/stat): with its pid it names one process.
 * "0" where the system has no /proc and the process is alive; undefined where no such process runs. One that has ended
 * and that its parent has not waited for (state Z or X) runs no more: it holds nothing, however long it is listed.
 */
export function startTimeOf(pid: number): string | undefined {
  if (process.platform !== "linux") return takesSignals(pid) ? "0" : undefined;
  return fieldsOf(pid)?.[START];
}

/** Whether a process of that pid runs. */
export function isRunning(pid: number): boolean {
  return startTimeOf(pid) !== undefined;
}

/** The session of a process that runs; undefined where none does. Linux alone tells it. */
export function sessionOf(pid: number): number | undefined {
  const session = fieldsOf(pid)?.[SESSION];
  return session === undefined ? undefined : Number(session);
}

/** Places among the fields of /proc/pid/stat behind the name of the program, from the state on. */
const [STATE, SESSION, START] = [0, 3, 19];

function fieldsOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name stands in parentheses and may hold anything.
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
