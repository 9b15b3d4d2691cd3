import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { isAbsolute, sep } from "node:path";
import { leadsInto } from "./leads-into.ts";

/**
 * The pids of the processes that were started as a program of `folder`, or have mapped a file of it, such as a library; on Linux. Processes
 * of other containers and machines are not seen, and of other users' processes only what they were started as.
 */
export function processesUsing(folder: string): number[] {
  const prefixes = [...new Set([folder, realpathSync(folder)])].map((path) => path + sep);
  const isInside = (path: string) => prefixes.some((prefix) => path.startsWith(prefix));
  const isOf = (program: string) => isAbsolute(program) && leadsInto(program, folder);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => isOf(programOf(pid)) || mappedFiles(pid).some(isInside))
    .map(Number);
}

/** An interpreter of a virtual environment is a link, so that its executable is elsewhere; its first argument is the link. */
function programOf(pid: string): string {
  return contentOf(`/proc/${pid}/cmdline`).split("\0", 1)[0]!;
}

function mappedFiles(pid: string): string[] {
  const lines = contentOf(`/proc/${pid}/maps`).split("\n");
  return lines.flatMap((line) => line.match(/\/.*$/)?.[0] ?? []);
}

/** Empty if the process has ended, or is another user's. */
function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
