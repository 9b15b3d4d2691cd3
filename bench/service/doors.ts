/** What one caller costs another one at each entry point of a service: how long the other's GETs take meanwhile. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { endServices, startServe } from "../../test/service/service.testing.ts";
import { quantile, type Table } from "../table.ts";
import type { Attack, AttackCounts, AttackOrder } from "./door-attack.ts";
import { type DoorData, ENV, prepareDoors } from "./door-data.ts";
import { peakResidentMiB, resetPeakMemory } from "./resident-memory.ts";

const MILLISECONDS = 12_000;
/** With fewer, a caller sends less at a time; a service has some thousands of connections for all callers. */
const CONNECTIONS = 1_000;

const JSON_HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const CALL = { name: "list_operations", arguments: { limit: 100 } };
const SMALL_CALL = { ...CALL, arguments: { limit: 1 } };
/** Arguments that no tool has: about 200 KB of them. */
const MANY = Object.fromEntries(Array.from({ length: 18_000 }, (_, index) => [`k${index}`, 1]));
const CALLED = { jsonrpc: "2.0", id: 1, method: "tools/call", params: CALL };

function mcp(message: unknown, atOnce = CONNECTIONS): Attack {
  return { method: "POST", path: "/mcp", headers: JSON_HEADERS, body: JSON.stringify(message), atOnce };
}

/** About 5 MB of prices. */
function prices(): string {
  const lines = ["date,ticker,close"];
  const first = Date.UTC(2010, 0, 1);
  for (let day = 0; day < 2_000; day++) {
    const date = new Date(first + day * 86_400_000).toISOString().slice(0, 10);
    for (let ticker = 0; ticker < 100; ticker++)
      lines.push(`${date},T${ticker},${100 + ((day * ticker) % 17)}`);
  }
  return `${lines.join("\n")}\n`;
}

/** Entry points that fill the queue of new connections, measured again with the bandwidth of a slow line. */
const SLOW = [
  "the same, connection closed at once",
  "MCP: 200 KB of unknown arguments",
  "event streams, connection closed at once",
];
const SLOW_BYTES_PER_MINUTE = 5e6;

/** Each entry point, with the caller's requests. */
function doors(data: DoorData): Readonly<Record<string, Attack | undefined>> {
  const all = fastDoors(data);
  const slow = SLOW.map((door) => [
    `${door}, 5 MB a minute`,
    { ...all[door]!, bytesPerMinute: SLOW_BYTES_PER_MINUTE },
  ]);
  return { ...all, ...Object.fromEntries(slow) };
}

function fastDoors({
  ids: { ended, waiting },
  port,
}: DoorData): Readonly<Record<string, Attack | undefined>> {
  const output = `/data/ml_engine_${ended}.json`;
  const job = {
    feature_url: `http://127.0.0.1:${port}/data/feature_engine_small.json`,
    data_extractor_url: `http://127.0.0.1:${port}/data/data_extractor_small.json`,
    config: { "ML params": { model: "ridge", n_splits: 2 } },
  };
  const all = { atOnce: CONNECTIONS };
  return {
    nothing: undefined,
    "a list of operations": { path: "/v1/operations?limit=100", ...all },
    "the same, connection closed at once": { path: "/v1/operations?limit=100", ...all, answers: "close" },
    "the same, not read": { path: "/v1/operations?limit=100", ...all, answers: "leave" },
    "MCP: list_operations": mcp(CALLED),
    "MCP: tools/list": mcp({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    "MCP: batches of 100": mcp(
      Array.from({ length: 100 }, (_, id) => ({ ...CALLED, id, params: SMALL_CALL })),
    ),
    "MCP: 12 KB that is not a message": mcp(Array.from({ length: 3_000 }, () => 1)),
    "MCP: 200 KB of unknown arguments": mcp({ ...CALLED, params: { ...SMALL_CALL, arguments: MANY } }),
    "MCP: 200 KB in one-byte chunks": { ...mcp("x".repeat(200_000), 20), inBytes: true },
    "the OpenAPI document": { path: "/openapi.json", ...all },
    "event streams, read": { path: `/v1/operations/${waiting}/events`, ...all },
    "event streams, connection closed at once": {
      path: `/v1/operations/${waiting}/events`,
      ...all,
      answers: "close",
    },
    "event streams, not read": { path: `/v1/operations/${waiting}/events`, ...all, answers: "leave" },
    "long polls": { path: `/v1/operations/${waiting}`, headers: { prefer: "wait=60" }, ...all },
    forecasts: { path: `/v1/operations/${ended}/forecast`, ...all },
    "report pages": { path: `/v1/operations/${ended}/report`, ...all },
    "links to reports": { method: "POST", path: `/v1/operations/${ended}/report-link`, ...all },
    downloads: { path: output, ...all },
    "uploads of 1 KB": {
      method: "PUT",
      path: "/data/feature_engine_up{n}.json",
      body: "x".repeat(1_000),
      ...all,
    },
    "uploads of 5 MB": {
      method: "PUT",
      path: "/data/feature_engine_large.json",
      body: "x".repeat(5_000_000),
      atOnce: 20,
    },
    "uploads of 500 KB in one-byte chunks": {
      method: "PUT",
      path: "/data/feature_engine_bytes{n}.json",
      body: "x".repeat(500_000),
      inBytes: true,
      atOnce: 12,
    },
    prepare: { method: "POST", path: "/v1/prepare", body: prices(), atOnce: 20 },
    submissions: {
      method: "POST",
      path: "/v1/run_ml_job",
      headers: JSON_HEADERS,
      body: JSON.stringify(job),
      ...all,
    },
  };
}

const HEADER = [
  "what the one caller sends",
  "requests",
  "refused",
  "size of the answers",
  "GETs of the other caller",
  "p50, ms",
  "p99, ms",
  "worst, ms",
  "worst on a new connection, ms",
  "memory, MiB",
];

export async function benchDoors(): Promise<Table> {
  try {
    const data = await prepareDoors();
    const rows: string[][] = [];
    for (const [door, attack] of Object.entries(doors(data))) rows.push(await measure(data, door, attack));
    return {
      title: `GETs of one caller, one after another for ${MILLISECONDS / 1_000} s, while another caller keeps an entry point busy`,
      header: HEADER,
      rows,
    };
  } finally {
    await endServices();
  }
}

/** With a new service, whose request limits have not been used. */
async function measure(data: DoorData, door: string, attack: Attack | undefined): Promise<string[]> {
  const { folder, port, tokens, ids } = data;
  const serving = await startServe({ folder, port, env: ENV });
  const get = () => timedGet(`${serving.url}/v1/operations/${ids.others}`, tokens.other);
  for (let warm = 0; warm < 20; warm++) await get();
  resetPeakMemory(serving.pid);
  const busy = attack && begin({ port, token: tokens.busy, attack });
  if (busy) await pause(500);
  const taken: number[] = [];
  const end = performance.now() + MILLISECONDS;
  const onNew = worstOnNew(`${serving.url}/v1/operations/${ids.others}`, tokens.other, end);
  for (; performance.now() < end; await pause(5)) taken.push(await get());
  const worst = await onNew;
  const { sent, refused, bytes } = (await busy?.end()) ?? { sent: 0, refused: 0, bytes: 0 };
  const row = [
    door,
    String(sent),
    String(refused),
    `${(bytes / 1e6).toFixed(1)} MB`,
    String(taken.length),
    ...[quantile(taken, 0.5), quantile(taken, 0.99), Math.max(...taken), worst].map((ms) => ms.toFixed(0)),
    peakResidentMiB(serving.pid).toFixed(0),
  ];
  process.stderr.write(`${row.join("  ")}\n`);
  await serving.terminate();
  return row;
}

/** The slowest of successive GETs until an end, each on a new connection. */
async function worstOnNew(url: string, token: string, end: number): Promise<number> {
  let worst = 0;
  while (performance.now() < end) {
    const began = performance.now();
    const sent = request(url, { agent: false, headers: { authorization: `Bearer ${token}` } }).end();
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    await once(answer.resume(), "close");
    worst = Math.max(worst, performance.now() - began);
    await pause(50);
  }
  return worst;
}

async function timedGet(url: string, token: string): Promise<number> {
  const began = performance.now();
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  await answer.arrayBuffer();
  if (answer.status !== 200 && answer.status !== 429) throw new Error(`${url}: ${answer.status}`);
  return performance.now() - began;
}

function begin(order: AttackOrder): { end(): Promise<AttackCounts> } {
  const worker = new Worker(new URL("./door-attack.ts", import.meta.url), { workerData: order });
  return {
    end: async () => {
      worker.postMessage("end");
      const [counts] = (await once(worker, "message")) as [AttackCounts];
      await worker.terminate();
      return counts;
    },
  };
}
