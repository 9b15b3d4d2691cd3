import { readFileSync } from "node:fs";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { Settings } from "../../../contract/settings.ts";

/** Descriptors of the service without a connection and a job: about 120 on PGlite, 40 on PostgreSQL; and some to spare. */
const OWN_FILES = 256;
/** A job process has four pipes; its inputs and outputs are its own. */
const FILES_PER_JOB = 8;
/** Its socket, and the file that its upload or download stands in. */
const FILES_PER_CONNECTION = 2;
const LEAST = 16;
const MOST = 10_000;

/**
 * How many connections of callers may be open at the same time, so that the rest of the service never lacks descriptors.
 * @param files that this process may have open.
 * @throws MucastError invalid_request for a setting that leaves too few.
 */
export function connectionLimit(
  { connections, concurrent_jobs }: Pick<Settings, "connections" | "concurrent_jobs">,
  files = openFileLimit(),
): number {
  const own = OWN_FILES + FILES_PER_JOB * concurrent_jobs;
  const room = Math.floor((files - own) / FILES_PER_CONNECTION);
  if (connections === undefined) return Math.max(LEAST, Math.min(MOST, room));
  if (connections <= room) return connections;
  const message =
    `${connections} connections need ${connections * FILES_PER_CONNECTION} open files beside ${own} of the service, ` +
    `and this process may have ${files}: raise "ulimit -n" (LimitNOFILE of systemd), or lower connections`;
  throw new MucastError("invalid_request", message, { path: "connections", value: connections });
}

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
