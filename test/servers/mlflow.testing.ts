/**
 * A real `mlflow server` for tests, with basic authentication, and its databases and artifacts in a temporary folder. It ends at `stop`, and also when the test's
 * process dies. Its packages, 620 MB, are installed at the first start.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { lockedPython } from "../../scripts/locked-python.ts";
import { claimPort } from "./port.testing.ts";

const LOCK = fileURLToPath(new URL("../../tools/test-servers/requirements-mlflow.txt", import.meta.url));

/** Ends the server and the processes that it starts, which are its group, once stdin ends. */
const WATCHER = '"$@" & cat >/dev/null; kill -9 0';

/** It sends no usage data, and starts no processes for jobs. */
const QUIET = {
  MLFLOW_DISABLE_TELEMETRY: "true",
  DO_NOT_TRACK: "true",
  MLFLOW_SERVER_ENABLE_JOB_EXECUTION: "false",
};

const USERNAME = "admin";

export interface MlflowServer {
  /** The environment of a command that records runs. */
  readonly env: Readonly<
    Record<"MLFLOW_TRACKING_URI" | `MLFLOW_TRACKING_${"USERNAME" | "PASSWORD"}`, string>
  >;
  /** Calls a method of its REST API with a body, or reads a path of it without one. */
  call(path: string, body?: unknown): Promise<Response>;
  /** Reads another path of the server. */
  read(path: string): Promise<Response>;
  stop(): Promise<void>;
}

export async function startMlflow(): Promise<MlflowServer> {
  const folder = await mkdtemp(join(tmpdir(), "mucast-mlflow-"));
  const python = lockedPython("mlflow", LOCK);
  const port = await claimPort();
  const password = randomBytes(16).toString("hex");
  const accounts = join(folder, "accounts.ini");
  await writeFile(accounts, accountsOf(folder, password));
  const stores = ["--backend-store-uri", `sqlite:///${folder}/mlflow.db`, "--artifacts-destination", folder];
  const where = ["--host", "127.0.0.1", "--port", String(port), "--workers", "1", "--app-name", "basic-auth"];
  const args = ["-c", WATCHER, "sh", python, "-m", "mlflow", "server", ...where, ...stores];
  const child = spawn("sh", args, {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      ...QUIET,
      MLFLOW_AUTH_CONFIG_PATH: accounts,
      MLFLOW_FLASK_SERVER_SECRET_KEY: randomBytes(16).toString("hex"),
    },
    stdio: ["pipe", "ignore", "pipe"],
    detached: true,
  });
  const url = `http://127.0.0.1:${port}`;
  await listening(child, url);
  const authorization = `Basic ${Buffer.from(`${USERNAME}:${password}`).toString("base64")}`;
  return {
    env: { MLFLOW_TRACKING_URI: url, MLFLOW_TRACKING_USERNAME: USERNAME, MLFLOW_TRACKING_PASSWORD: password },
    call: (path, body) =>
      fetch(`${url}/api/2.0/${path}`, {
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
        headers: { authorization, "content-type": "application/json" },
      }),
    read: (path) => fetch(`${url}${path}`, { headers: { authorization } }),
    async stop() {
      const ended = once(child, "exit");
      child.stdin!.end();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The settings of its accounts, with one that may do everything. Without the cache, each request hashes its password for a second. */
function accountsOf(folder: string, password: string): string {
  return `[mlflow]
default_permission = NO_PERMISSIONS
database_uri = sqlite:///${folder}/accounts.db
admin_username = ${USERNAME}
admin_password = ${password}
authorization_function = mlflow.server.auth:authenticate_request_basic_auth
auth_cache_ttl_seconds = 3600
`;
}

/** @throws Error with the last lines of its log if the server ends before it answers. */
async function listening(child: ChildProcess, url: string): Promise<void> {
  let log = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    log = (log + text).slice(-5_000);
  });
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`the MLflow server ended before it listened: ${log}`);
    }
    const isReady = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await pause(100);
  }
}
