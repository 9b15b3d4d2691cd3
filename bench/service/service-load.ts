/** Many submissions at once over loopback: whether one is lost or duplicated, and how long accepting one takes. */
import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isEnded, type OperationView } from "../../src/contract/api/operation-view.ts";
import { Api } from "../../test/service/api.testing.ts";
import { payload } from "../../test/service/inputs.testing.ts";
import type { Serving } from "../../test/service/service.testing.ts";
import { quantile } from "../bench.ts";

const SUBMISSIONS = 500;
const CONNECTIONS = 64;
/** Every fifth is sent again, right away or at the end, with the same key and body. */
const REPEATED = SUBMISSIONS / 5;

export const LOAD_HEADER = [
  "database",
  "submitted",
  "sent again",
  "lost",
  "doubled",
  "first on its connection, worst ms",
  "submit p50 ms",
  "p99 ms",
  "all taken s",
  "all ended s",
  "Succeeded",
];

/** 500 small jobs from 64 connections while jobs run, to the end of the last one. */
export async function measureLoad(name: string, serving: Serving): Promise<string[]> {
  const api = new Api(serving.url);
  const started = performance.now();
  const { taken, first, later } = await submitAll(serving.url);
  const allTaken = performance.now() - started;
  const ids = new Set(taken.values());
  const ended = await untilAllEnded(api);
  const allEnded = performance.now() - started;
  const listed = ended.map(({ id }) => id);
  const outputs = readdirSync(join(serving.dataDir, "blobs/data")).filter((file) => file.startsWith("ml_"));
  const lost = [...ids].filter((id) => !listed.includes(id)).length + (SUBMISSIONS - taken.size);
  const doubled = listed.length - ids.size + (outputs.length - new Set(outputs).size);
  const succeeded = ended.filter(({ status }) => status === "Succeeded");
  if (outputs.length !== succeeded.length) throw new Error(`${outputs.length} outputs`);
  return [
    name,
    String(SUBMISSIONS),
    String(REPEATED),
    String(lost),
    String(doubled),
    quantile(first, 1).toFixed(0),
    quantile(later, 0.5).toFixed(0),
    quantile(later, 0.99).toFixed(0),
    (allTaken / 1_000).toFixed(1),
    (allEnded / 1_000).toFixed(1),
    String(succeeded.length),
  ];
}

interface Submitted {
  /** From key to id. */
  readonly taken: Map<string, string>;
  /** Milliseconds until each answer: for the requests that open a connection, all at the same moment, and for the others. */
  readonly first: number[];
  readonly later: number[];
}

async function submitAll(url: string): Promise<Submitted> {
  const keys = Array.from({ length: SUBMISSIONS }, () => randomUUID());
  const sent = [
    ...keys.flatMap((key, i) => (i % 10 === 0 ? [key, key] : [key])),
    ...keys.slice(0, REPEATED / 2),
  ];
  const taken = new Map<string, string>();
  const [first, later]: [number[], number[]] = [[], []];
  let next = 0;
  const connection = async () => {
    const api = new Api(url);
    for (let i = next++; i < sent.length; i = next++) {
      const key = sent[i]!;
      const started = performance.now();
      const { id } = await api.submit(payload(url, "small"), { "idempotency-key": key });
      (i < CONNECTIONS ? first : later).push(performance.now() - started);
      if ((taken.get(key) ?? id) !== id) throw new Error(`two operations for the key ${key}`);
      taken.set(key, id);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  return { taken, first, later };
}

/** Every operation, once all have ended. Polls are few, because they cost processor time that the jobs need. */
async function untilAllEnded(api: Api): Promise<OperationView[]> {
  for (const status of ["NotStarted", "Running"]) {
    while ((await api.list(`?limit=1&status=${status}`)).operations.length > 0) await pause(200);
  }
  const all = await everyOperation(api);
  return all.every(({ status }) => isEnded(status)) ? all : untilAllEnded(api);
}

async function everyOperation(api: Api): Promise<OperationView[]> {
  const all: OperationView[] = [];
  let query: string | undefined = "?limit=100";
  while (query !== undefined) {
    const page = await api.list(query);
    all.push(...page.operations);
    query =
      page.next_cursor === null ? undefined : `?limit=100&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
  return all;
}
