/**
 * `npm run chaos [-- --jobs 1000] [-- --database sqlite|postgres]`: two services on one data folder, or on one PostgreSQL, take small jobs
 * while they and what they depend on are killed, stopped, cut off and filled, and their clocks jump. Every job that was accepted must end
 * once, with one output if it succeeded. As root, and with a C compiler.
 */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { isEnded, type OperationView } from "../../src/contract/api/operation-view.ts";
import { claimPort } from "../servers/port.testing.ts";
import { type Postgres, startPostgres } from "../servers/postgres.testing.ts";
import { Api, collect } from "../service/api.testing.ts";
import { payload, putInputs } from "../service/inputs.testing.ts";
import { endServices, launchServe, type Serving } from "../service/service.testing.ts";

const CONNECTIONS = 8;
/** Seconds between two faults, and the longest that a fault lasts: longer than a lease. */
const [EVERY, LASTS] = [6, 45];
const DISK_MIB = 256;

const { values } = parseArgs({
  options: { jobs: { type: "string", default: "1000" }, database: { type: "string", default: "sqlite" } },
});
const jobs = Number(values.jobs);
const folder = mkdtempSync(join(tmpdir(), "mucast-chaos-"));
const [dataDir, disk, clock] = [join(folder, "data"), join(folder, "disk"), join(folder, "clock")];
const postgres = values.database === "postgres" ? await startPostgres() : undefined;
const env: Record<string, string> = {
  LD_PRELOAD: buildFaults(),
  CLOCK_OFFSET: clock,
  MUCAST_REQUESTS_PER_MINUTE: "10000000",
  MUCAST_QUEUED_PER_CALLER: String(2 * jobs),
  ...(postgres === undefined
    ? { DISK_OF: dataDir, DISK: disk }
    : { DATABASE_URL: await postgres.newDatabase() }),
};

/** A service that is started again on its port whenever it has ended. */
class Member {
  readonly name: string;
  readonly port: number;
  serving!: Serving;
  restarts = -1;

  constructor(name: string, port: number) {
    this.name = name;
    this.port = port;
  }

  async start(): Promise<void> {
    this.restarts++;
    this.serving = await launchServe({ folder, port: this.port, env });
  }

  async isReady(): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/readyz`).catch(() => undefined);
    return answer?.status === 200;
  }

  async kill(): Promise<void> {
    await this.serving.kill9();
    await this.start();
  }
}

const members = [new Member("first", await claimPort()), new Member("second", await claimPort())];
const [first, second] = members as [Member, Member];
// Blobs of the service have one origin, whichever service is asked.
env.MUCAST_PUBLIC_URL = `http://127.0.0.1:${first.port}`;
const told: string[] = [];
let played = 0;

function setClock(seconds: number): void {
  const offset = Buffer.alloc(8);
  offset.writeBigInt64LE(BigInt(seconds) * 1_000_000_000n);
  writeFileSync(clock, offset);
}

/** What happens, in turn; each ends with all services running. */
const FAULTS: Readonly<Record<string, (postgres: Postgres | undefined) => Promise<void> | undefined>> = {
  "kill -9 of a service": () => first.kill(),
  "kill -9 of a job": async () => {
    const job = second.serving.processes().find(({ command }) => command.includes("job-process"));
    if (job !== undefined) process.kill(job.pid, "SIGKILL");
  },
  "a service stopped for 45 s": async () => {
    second.serving.signal("SIGSTOP");
    await pause(1_000 * LASTS);
    second.serving.signal("SIGCONT");
  },
  "a clock 3 h ahead, then 2 h behind": async () => {
    setClock(3 * 3_600);
    await pause(5_000);
    setClock(-2 * 3_600);
    await pause(5_000);
    setClock(0);
  },
  "SIGTERM of a service": async () => {
    await second.serving.terminate();
    await second.start();
  },
  "loss of power": (server) => (server === undefined ? losePower() : undefined),
  "a full disk for 10 s": (server) => (server === undefined ? fillDisk() : undefined),
  "PostgreSQL restarted": (server) => server?.restart(),
  "PostgreSQL killed": (server) => server && killPostgres(server),
  "every session cut off": (server) => server && cutOff(server),
};

async function losePower(): Promise<void> {
  await Promise.all(members.map(({ serving }) => serving.kill9()));
  const names = readFileSync(join(disk, "names"), "utf8").trim().split("\n");
  const isDatabase = (name: string) => /\.(db|sqlite)/.test(name);
  for (const name of readdirSync(dataDir)) if (isDatabase(name)) rmSync(join(dataDir, name));
  for (const line of names) {
    const [inode, name] = [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)];
    const kept = join(disk, `i${inode}`);
    if (!isDatabase(name)) continue;
    if (existsSync(kept)) copyFileSync(kept, join(dataDir, name));
    else writeFileSync(join(dataDir, name), "");
  }
  for (const name of readdirSync(disk)) rmSync(join(disk, name));
  await Promise.all(members.map((member) => member.start()));
}

async function fillDisk(): Promise<void> {
  const file = join(dataDir, "filler");
  spawnSync("dd", ["if=/dev/zero", `of=${file}`, "bs=1M", `count=${DISK_MIB}`]);
  await pause(10_000);
  rmSync(file);
}

async function killPostgres(server: Postgres): Promise<void> {
  await server.kill9();
  await pause(3_000);
  await server.up();
}

async function cutOff(server: Postgres): Promise<void> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  await client.query("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()");
  await client.end();
}

function buildFaults(): string {
  const library = join(folder, "faults.so");
  const source = fileURLToPath(new URL("faults.c", import.meta.url));
  const built = spawnSync("cc", ["-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], {
    encoding: "utf8",
  });
  if (built.status !== 0) throw new Error(built.stderr);
  setClock(0);
  return library;
}

/** The id of the operation of a key, which is sent until a service accepts it. */
async function submit(key: string, body: string): Promise<string> {
  for (let turn = 0; ; turn++) {
    const { port } = members[turn % members.length]!;
    const answer = await fetch(`http://127.0.0.1:${port}/v1/run_ml_job`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key },
      body,
      signal: AbortSignal.timeout(30_000),
    }).catch(() => undefined);
    const text = await answer?.text().catch(() => undefined);
    if (answer?.status === 202 && text !== undefined) return (JSON.parse(text) as OperationView).id;
    if (answer !== undefined && answer.status < 500 && answer.status !== 429 && answer.status !== 202)
      throw new Error(`${answer.status}: ${text}`);
    refused++;
    await pause(200);
  }
}

let refused = 0;
const ids = new Map<string, string>();

async function submitAll(): Promise<void> {
  const keys = Array.from({ length: jobs }, () => randomUUID());
  const body = payload(`http://127.0.0.1:${first.port}`, "small");
  const waiting = keys.entries();
  const connection = async () => {
    for (const [i, key] of waiting) {
      ids.set(key, await submit(key, body));
      if (i % 5 === 0 && (await submit(key, body)) !== ids.get(key))
        told.push(`the key ${key} has two operations`);
      await pause(50);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
}

async function playFaults(until: () => boolean): Promise<void> {
  while (!until()) {
    for (const [name, play] of Object.entries(FAULTS)) {
      await pause(1_000 * EVERY);
      if (until()) return;
      const began = performance.now();
      const ended = play(postgres);
      if (ended === undefined) continue;
      await ended;
      played++;
      while (!(await Promise.all(members.map((member) => member.isReady()))).every(Boolean)) {
        for (const member of members) {
          const exited = await Promise.race([member.serving.exited, pause(0)]);
          if (exited !== undefined) await member.start();
        }
        await pause(200);
      }
      console.log(
        `${name}: all services answer again after ${((performance.now() - began) / 1_000).toFixed(1)} s`,
      );
    }
  }
}

async function waitForAll(api: Api): Promise<OperationView[]> {
  const ended: OperationView[] = [];
  for (const id of ids.values()) {
    for (;;) {
      const operation = await api.get(id).catch(() => undefined);
      if (operation !== undefined && isEnded(operation.status)) {
        ended.push(operation);
        break;
      }
      await pause(250);
    }
  }
  return ended;
}

mkdirSync(dataDir);
mkdirSync(disk);
if (postgres === undefined) spawnSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_MIB}m`, "tmpfs", dataDir]);
let isDone = false;
try {
  await first.start();
  while (!(await first.isReady())) await pause(100);
  await second.start();
  const api = new Api(`http://127.0.0.1:${first.port}`);
  await putInputs(api, "small");
  const began = performance.now();
  const faults = playFaults(() => isDone);
  await submitAll();
  const accepted = performance.now();
  const ended = await waitForAll(api);
  isDone = true;
  await faults;
  const outputs = readdirSync(join(dataDir, "blobs", "data")).filter((name) => name.startsWith("ml_engine_"));
  const counts = new Map<string, number>();
  for (const { id, status, error } of ended) {
    const name = error === null || error === undefined ? status : `${status} ${error.code}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const events = await collect(await api.events(id));
    const ends = events.filter(({ type }) => ["succeeded", "failed", "canceled"].includes(type)).length;
    if (ends !== 1) told.push(`${id} has ${ends} ends`);
    const own = outputs.filter((file) => file === `ml_engine_${id}.json`).length;
    if (own !== (status === "Succeeded" ? 1 : 0)) told.push(`${id} is ${status} and has ${own} outputs`);
  }
  if (new Set(ids.values()).size !== jobs)
    told.push(`${new Set(ids.values()).size} operations for ${jobs} keys`);
  if (outputs.length > ended.length) told.push(`${outputs.length} outputs for ${ended.length} operations`);
  console.log(
    `${values.database}: ${jobs} accepted in ${((accepted - began) / 1_000).toFixed(0)} s (${refused} requests were refused meanwhile), ` +
      `all ended after ${((performance.now() - began) / 1_000).toFixed(0)} s, ${played} faults: ` +
      `${[...counts].map(([name, count]) => `${count} ${name}`).join(", ")}; ${outputs.length} outputs`,
  );
} finally {
  isDone = true;
  await endServices();
  await postgres?.stop();
  spawnSync("umount", [dataDir]);
  rmSync(folder, { recursive: true, force: true });
}
for (const fault of told) console.log(`FAULT: ${fault}`);
process.exitCode = told.length === 0 ? 0 : 1;
