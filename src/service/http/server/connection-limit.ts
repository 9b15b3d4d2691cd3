import { readFileSync } from "node:fs";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { Settings } from "../../../contract/settings.ts";

/** Descriptors of the service without connections and jobs: about 40, with a reserve. */
const OWN_FILES = 256;
/** Four pipes to the job process, and as many in reserve. The job's inputs and output are open in the job process. */
const FILES_PER_JOB = 8;
/** The socket, and the file of an upload or a download. */
const FILES_PER_CONNECTION = 2;
const MIN_CONNECTIONS = 16;
const MAX_CONNECTIONS = 10_000;

/**
 * The maximum number of open connections of callers, chosen so that the rest of the service never runs out of file descriptors.
 *
 * @param files descriptors that this process may have open.
 * @throws MucastError invalid_request for a setting `connections` that needs more.
 */
export function connectionLimit(
  { connections, concurrent_jobs }: Pick<Settings, "connections" | "concurrent_jobs">,
  files = openFileLimit(),
): number {
  const own = OWN_FILES + FILES_PER_JOB * concurrent_jobs;
  const room = Math.floor((files - own) / FILES_PER_CONNECTION);
  if (connections === undefined) return Math.max(MIN_CONNECTIONS, Math.min(MAX_CONNECTIONS, room));
  if (connections <= room) return connections;
  const message =
    `${connections} connections need ${connections * FILES_PER_CONNECTION} open files beside ${own} of the service, ` +
    `and this process may have ${files}: raise "ulimit -n" (LimitNOFILE of systemd), or lower connections`;
  throw new MucastError("invalid_request", message, { path: "connections", value: connections });
}

/** The soft limit of this process, which Node raises to the hard limit at its start. */
export function openFileLimit(): number {
  return process.platform === "linux" ? limitOfProc() : limitOfReport();
}

function limitOfProc(): number {
  const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
  return numberOf(soft);
}

/** From Node's diagnostic report: macOS has no /proc. */
export function limitOfReport(): number {
  // With the network, the report would look up the names of addresses, which takes seconds.
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
