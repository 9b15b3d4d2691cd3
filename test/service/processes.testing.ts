/** Running processes, from /proc on Linux. A zombie does not count. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  /** Ticks since boot; together with the pid it identifies a process permanently. */
  readonly started: string;
  /** Its arguments, separated by spaces. */
  readonly command: string;
}

/** Every running process that may be inspected. */
export function allProcesses(): ProcessInfo[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => processOf(Number(name)))
    .filter((seen) => seen !== undefined);
}

/** A process and all its descendants; empty if it is not running. */
export function treeOf(root: number): ProcessInfo[] {
  const all = allProcesses();
  const tree = all.filter(({ pid }) => pid === root);
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

/** Those of `seen` that are still running. */
export function stillRunning(seen: readonly ProcessInfo[]): ProcessInfo[] {
  return seen.filter(({ pid, started }) => processOf(pid)?.started === started);
}

/** Processes related to a folder: it is their current folder, in their arguments or in their environment. */
export function processesNaming(folder: string): ProcessInfo[] {
  return allProcesses().filter(
    ({ pid, command }) =>
      pid !== process.pid &&
      (command.includes(folder) ||
        linkOf(`/proc/${pid}/cwd`).startsWith(folder) ||
        textOf(`/proc/${pid}/environ`).includes(folder)),
  );
}

/** Ports of both ends. */
export interface Connection {
  readonly from: number;
  readonly to: number;
}

/** The process that has an IPv4 TCP connection between the ports. Processes with other servers may share its own port. */
export function ownerOf({ from, to }: Connection): ProcessInfo | undefined {
  const hex = (port: number) => `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const connection = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .find(([, own, other, state]) => own?.endsWith(hex(from)) && other?.endsWith(hex(to)) && state === "01");
  const socket = `socket:[${connection?.[9]}]`;
  return allProcesses().find(({ pid }) =>
    namesIn(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === socket),
  );
}

function processOf(pid: number): ProcessInfo | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  if (stat === "") return undefined;
  // The name, in parentheses, may contain anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return undefined;
  const command = textOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
  return { pid, parent: Number(fields[1]), started: fields[19]!, command };
}

/** A process may end at any moment, or belong to another user: then there is nothing to read. */
function textOf(path: string): string {
  return quietly(() => readFileSync(path, "latin1"));
}

function linkOf(path: string): string {
  return quietly(() => readlinkSync(path));
}

function namesIn(path: string): string[] {
  const names = quietly(() => readdirSync(path).join(" "));
  return names === "" ? [] : names.split(" ");
}

function quietly(read: () => string): string {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH" || code === "EACCES" || code === "EPERM") return "";
    throw error;
  }
}
