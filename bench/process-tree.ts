import { readdirSync, readFileSync } from "node:fs";

export interface TreeMemory {
  /** What nothing but these processes can give back. */
  readonly anonymous: number;
  /** With what they hold of mapped files: libraries, and matrices on disk that the kernel may drop at any time. */
  readonly withFiles: number;
}

/** Bytes of a process and of all that descend from it; a page that several of them share counts once. Swap is not counted. */
export function memoryOf(root: number): TreeMemory {
  const sum = { anonymous: 0, withFiles: 0 };
  for (const pid of treeOf(root)) {
    const rollup = textOf(`/proc/${pid}/smaps_rollup`);
    sum.anonymous += bytesOf(rollup, "Pss_Anon") + bytesOf(rollup, "Pss_Shmem");
    sum.withFiles += bytesOf(rollup, "Pss");
  }
  return sum;
}

function treeOf(root: number): Set<number> {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = parentOf(Number(name));
    if (parent !== undefined) parents.set(Number(name), parent);
  }
  const tree = new Set([root]);
  for (let before = 0; before < tree.size; ) {
    before = tree.size;
    for (const [pid, parent] of parents) if (tree.has(parent)) tree.add(pid);
  }
  return tree;
}

/** A process may end at any moment; then it has no parent and no memory. */
function parentOf(pid: number): number | undefined {
  const status = textOf(`/proc/${pid}/stat`);
  // The name, in parentheses, may hold anything.
  return status ? Number(status.slice(status.lastIndexOf(")") + 2).split(" ")[1]) : undefined;
}

function bytesOf(rollup: string, name: string): number {
  const [, kibibytes = 0] = new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(rollup) ?? [];
  return Number(kibibytes) * 1024;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return "";
    throw error;
  }
}
