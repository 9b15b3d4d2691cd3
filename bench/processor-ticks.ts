import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks per second; sysconf(_SC_CLK_TCK) is 100 on every Linux that mucast runs on. */
const TICKS = 100;

/** Indices into the fields of /proc/pid/stat (proc(5)) after the program's name; 0 is the state. */
const [PARENT, USER, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM] = [1, 11, 12, 13, 14];

interface ProcessTime {
  /** The pid of its parent. */
  readonly parent: number;
  /** Processor seconds of the process, without those of its children. */
  readonly seconds: number;
  /** Processor seconds of the children that have ended and were waited for, including their children. */
  readonly endedChildren: number;
}

/** Processor time that a process has used so far; undefined if it has ended. Linux only. */
export function processTimeOf(pid: number): ProcessTime | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  // The name, in parentheses, may contain anything.
  const after = stat.slice(stat.lastIndexOf(")") + 2);
  const fields = after.split(" ").map(Number);
  return {
    parent: fields[PARENT]!,
    seconds: (fields[USER]! + fields[SYSTEM]!) / TICKS,
    endedChildren: (fields[CHILDREN_USER]! + fields[CHILDREN_SYSTEM]!) / TICKS,
  };
}

/** Processor seconds of the workers of this process's host, which live as long as the pool. Linux only. */
export function workerSeconds(): number {
  const all = readdirSync("/proc").flatMap((name) => {
    const time = /^\d+$/.test(name) ? processTimeOf(Number(name)) : undefined;
    return time === undefined ? [] : [{ pid: Number(name), ...time }];
  });
  const hosts = new Set(all.flatMap(({ pid, parent }) => (parent === process.pid ? [pid] : [])));
  return all.reduce((sum, { parent, seconds }) => sum + (hosts.has(parent) ? seconds : 0), 0);
}
