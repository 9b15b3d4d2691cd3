import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { Settings } from "../../../contract/settings.ts";
import type { HttpApp, HttpOptions } from "./http-app.ts";

const WARNING_MILLISECONDS = 60_000;

/** Limits the open connections of a service, and survives those that cannot be accepted. */
export function limitConnections(app: HttpApp, { settings, log, telemetry }: HttpOptions): void {
  const { server } = app;
  const connections = connectionLimit(settings);
  let warnedAt = Number.NEGATIVE_INFINITY;
  server.maxConnections = connections;
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    if (open.size < connections) return;
    // One that has sent nothing makes room for the next.
    for (const unused of open) {
      if (unused.bytesRead > 0 || unused === socket) continue;
      unused.destroy();
      return;
    }
  });
  server.on("drop", () => {
    telemetry.connectionRefused();
    // The next attempt gets a place, unless all are busy.
    server.closeIdleConnections();
    if (performance.now() - warnedAt < WARNING_MILLISECONDS) return;
    warnedAt = performance.now();
    log.warn({ connections }, "the limit of open connections is reached; new connections are closed");
  });
  // A connection that cannot be accepted emits an error, which would end the process. Before, listen() rejects with it.
  app.addHook("onListen", async () => {
    server.on("error", (error) => log.warn({ err: error }, "the server failed"));
  });
}

/** Descriptors of the service itself, with a reserve. */
const OWN_FILES = 256;
/** Four pipes to the job process, and as many in reserve. */
const FILES_PER_JOB = 8;
/** The socket, and the file of an upload or a download. */
const FILES_PER_CONNECTION = 2;
const MIN_CONNECTIONS = 16;
const MAX_CONNECTIONS = 10_000;

/**
 * The maximum number of open connections, chosen so that the rest of the service never runs out of file descriptors.
 * @param files descriptors that this process may have open.
 * @throws MucastError invalid_request for a setting `connections` that needs more.
 */
export function connectionLimit(
  { connections, concurrent_jobs }: Pick<Settings, "connections" | "concurrent_jobs">,
  files = openFileLimit(),
): number {
  const reserved = OWN_FILES + FILES_PER_JOB * concurrent_jobs;
  const room = Math.floor((files - reserved) / FILES_PER_CONNECTION);
  if (connections === undefined) return Math.max(MIN_CONNECTIONS, Math.min(MAX_CONNECTIONS, room));
  if (connections <= room) return connections;
  const message =
    `${connections} connections need ${connections * FILES_PER_CONNECTION} open files beside ${reserved} of the service, ` +
    `and this process may have ${files}: raise "ulimit -n" (LimitNOFILE of systemd), or lower connections`;
  throw new MucastError("invalid_request", message, { path: "connections", value: connections });
}

/** The soft limit, which Node raises to the hard limit at its start. Other systems than Linux do not tell it. */
function openFileLimit(): number {
  if (process.platform !== "linux") return Number.POSITIVE_INFINITY;
  const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
  return Number(soft ?? Number.POSITIVE_INFINITY);
}
