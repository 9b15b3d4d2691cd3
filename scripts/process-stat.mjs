// What /proc reports about processes. Uses only built-ins, because the set-up runs before TypeScript can be loaded.
import { readdirSync, readFileSync } from "node:fs";

/**
 * A running process, with its parent and its start in clock ticks since boot, which identifies it together with its pid. A
 * process that has ended but whose parent has not waited for it (a zombie) is not running.
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
  // The name is in parentheses and may contain anything.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/**
 * Whether this process's group is the one that its terminal sends Ctrl-C to.
 * @returns {boolean | undefined} undefined if the system has no /proc
 */
export function isInForeground() {
  if (process.platform !== "linux") return undefined;
  const [, , group, , , foreground] = fieldsOf("self");
  return group === foreground;
}

/** All current descendants of a process; none if the system has no /proc. */
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
