import { readFileSync } from "node:fs";

/** How many descriptors this process may have: the soft limit, which Node raises to the hard one at its start. */
export function openFileLimit(): number {
  return process.platform === "linux" ? limitOfProc() : limitOfReport();
}

function limitOfProc(): number {
  const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
  return numberOf(soft);
}

/** From Node's own report, which asks the system: macOS has no /proc. */
export function limitOfReport(): number {
  // Looking up the names of network addresses would take seconds.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files?: { soft?: number | string } };
  };
  return numberOf(userLimits?.open_files?.soft);
}

function numberOf(limit: number | string | undefined): number {
  const files = Number(limit);
  return Number.isFinite(files) ? files : Number.POSITIVE_INFINITY;
}
