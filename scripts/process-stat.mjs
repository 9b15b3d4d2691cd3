// What /proc says of processes. Built-ins alone, as the set-up runs before TypeScript can be read.
import { readdirSync, readFileSync } from "node:fs";

/**
 * A process that runs, by its parent and by its start in clock ticks since boot, which names it together with its pid.
 * One that has ended and that its parent has not waited for (a zombie) runs no more.
 * @param {number} pid
 * @returns {{ pid: number, parent: number, start: string } | undefined}
 */
export function processOf(pid) {
  try {
    const fields = fieldsOf(pid);
    return /[ZX]/i.test(fields[0]) ? undefined : { pid, parent: Number(fields[1]), start: fields[19] };
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ESRCH") return undefined;
    throw error;
  }
}

/** The fields of /proc/pid/stat after the program's name; 0 is the state. */
function fieldsOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The name stands in parentheses and may hold anything.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/**
 * Whether the group of this process is the one that its terminal sends Ctrl-C to.
 * @returns {boolean | undefined} undefined where the system has no /proc
 */
export function isInForeground() {
  if (process.platform !== "linux") return undefined;
  const [, , group, , , foreground] = fieldsOf("self");
  return group === foreground;
}

/** All that descend from a process, now; none where the system has no /proc. */
export function descendantsOf(pid) {
  if (process.platform !== "linux") return [];
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => processOf(Number(name)))
    .filter((found) => found !== undefined);
  const tree = all.filter(({ parent }) => parent === pid);
  for (const { pid: older } of tree) tree.push(...all.filter(({ parent }) => parent === older));
  return tree;
}
