/** Runs `mucast serve` as users do: as a separate process, observed through HTTP, its logs, its files and /proc. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { claimPort } from "../servers/port.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { type ProcessInfo, processesNaming, stillRunning, treeOf } from "./processes.testing.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = join(ROOT, "src/cli/main.ts");

/** The environment of the tests must not affect what the service reads. */
const OWN =
  /^(FEATURE_URL|DATA_EXTRACTOR_URL|CONFIG|BLOB_URL|OPERATION_ID|DATABASE_URL|PG.*|MUCAST_(?!PYTHON$).*|OTEL_.*|MLFLOW_.*|AZURE_.*|AWS_.*|NODE_(?!COMPILE_CACHE$).*)$/;

/** One job at a time, so that no second job process loads its libraries; and a drain that waits for none. */
export const ONE_JOB = { MUCAST_CORES: "1", MUCAST_CONCURRENT_JOBS: "1", MUCAST_DRAIN_SECONDS: "0" };

/** Reads what an engine receives, and answers nothing; it ends with its input, like an engine. */
const SILENT = "#!/bin/sh\nexec cat >/dev/null\n";

/**
 * A fake engine, for a service whose jobs never reach a fit: a real one spends a processor second on its imports.
 * @returns what the service needs for it.
 */
export async function silentEngine(folder: string): Promise<Readonly<Record<string, string>>> {
  const python = join(folder, "silent-python");
  await writeFile(python, SILENT, { mode: 0o755 });
  return { MUCAST_PYTHON: python };
}

export interface ServeOptions {
  /** In addition to the settings of one job at a time. */
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** Contains the data folder `data` and the folder of temporary files `tmp`; a new one by default. */
  readonly folder?: string;
  /** A free one by default. Own-origin URLs of a payload contain it, so a restart keeps it. */
  readonly port?: number;
  /** The command prefix, such as a shell in a namespace: the words before `node`. */
  readonly through?: readonly string[];
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Serving {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly folder: string;
  readonly dataDir: string;
  readonly exited: Promise<Exit>;
  /** All its output, on stdout and on stderr. */
  logs(): string;
  /** Its process and its descendants, now. */
  processes(): ProcessInfo[];
  signal(name: NodeJS.Signals): void;
  /** Kills it, as the kernel would. */
  kill9(): Promise<void>;
  /** Sends SIGTERM, and waits for its end. */
  terminate(): Promise<Exit>;
}

const started = new Set<Serving>();
const folders = new Set<string>();

/** @returns a new folder, which `endServices` removes. */
export async function serviceFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mucast-service-"));
  folders.add(folder);
  return folder;
}

/** A service that answers. @throws with all its output, if it ends earlier. */
export async function startServe(options: ServeOptions = {}): Promise<Serving> {
  const launched = await launchServe(options);
  const exited = launched.exited.then(({ code, signal }) => {
    throw new Error(`serve ended with ${signal ?? code}:\n${launched.logs()}`);
  });
  const ready = eventuallyTrue("the service answers", async () => {
    const answer = await fetch(`${launched.url}/healthz`).catch(() => undefined);
    return answer?.ok === true;
  });
  await Promise.race([ready, exited]);
  exited.catch(() => undefined);
  return launched;
}

/** The same, without waiting for an answer: it may refuse to start. */
export async function launchServe(options: ServeOptions = {}): Promise<Serving> {
  const { args = [], through = [], env = {} } = options;
  const folder = options.folder ?? (await serviceFolder());
  const [dataDir, temporary] = [join(folder, "data"), join(folder, "tmp")];
  await mkdir(temporary, { recursive: true });
  const port = options.port ?? (await claimPort());
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN.test(name)));
  const words = [...through, process.execPath, MAIN, "serve", "--port", String(port)];
  if (!args.includes("--data-dir")) words.push("--data-dir", dataDir);
  const child = spawn(words[0]!, [...words.slice(1), ...args], {
    cwd: ROOT,
    env: { ...inherited, TMPDIR: temporary, ...ONE_JOB, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithUs(child, folder);
  const serving = watch(child, port, folder, dataDir);
  started.add(serving);
  return serving;
}

/** A second line of defence, if a test is killed: ends the service once this process is gone. */
function endWithUs(child: ChildProcess, folder: string): void {
  const script = 'read -r pid; read -r folder; cat >/dev/null; kill -9 "$pid" 2>/dev/null; rm -rf "$folder"';
  const guard = spawn("sh", ["-c", script], {
    cwd: "/",
    detached: true,
    env: {},
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.stdin!.write(`${child.pid}\n${folder}\n`);
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  child.once("exit", () => guard.kill("SIGKILL"));
}

function watch(child: ChildProcess, port: number, folder: string, dataDir: string): Serving {
  let said = "";
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
  }
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once("error", reject);
    // Not at its exit: its last output may still be in its pipes.
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  const serving: Serving = {
    url: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid!,
    folder,
    dataDir,
    exited,
    logs: () => said,
    processes: () => treeOf(child.pid!),
    signal: (name) => void child.kill(name),
    kill9: async () => {
      child.kill("SIGKILL");
      await exited;
    },
    terminate: async () => {
      child.kill("SIGTERM");
      return exited;
    },
  };
  return serving;
}

/** Waits until none of these is running. */
export async function untilNoneRuns(seen: readonly ProcessInfo[]): Promise<void> {
  await eventuallyTrue("its processes end", () => stillRunning(seen).length === 0);
}

/** Waits until no process works in the folder of a service. */
export async function untilFolderIsUnused(folder: string): Promise<void> {
  await eventuallyTrue(`no process uses ${folder}`, () => processesNaming(folder).length === 0);
}

/** Ends every service of this file by SIGTERM, waits for all that they started, and removes their folders. */
export async function endServices(): Promise<void> {
  await Promise.all([...started].map((serving) => serving.terminate()));
  started.clear();
  for (const folder of folders) {
    await untilFolderIsUnused(folder);
    await rm(folder, { recursive: true, force: true });
  }
  folders.clear();
}
