import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { FolderStore } from "../blob/folder/folder-store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { StatusBlob } from "../contract/output/job-events.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { problemOf } from "../contract/problems/problem.ts";
import { SIZES } from "../contract/schema/answer-limits.ts";
import { readStatus, StatusEvents, type StatusOptions, StatusWriter } from "./status-blobs.ts";

const RECORD: ResultRecord = {
  status: "Succeeded",
  output_url: "http://127.0.0.1:8080/data/ml_engine_a.json",
  output_name: "ml_engine_a.json",
  execution_name: "ml-worker-job-1",
};

let folder: string;
let store: FolderStore;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "mucast-status-"));
  store = new FolderStore(folder, "http://127.0.0.1:8080");
});
after(() => rm(folder, { recursive: true, force: true }));

function writer(id: string, options: Partial<StatusOptions> = {}): StatusWriter {
  const log = (line: string) => assert.fail(line);
  return new StatusWriter({ store, id, attempt: 1, config: "{}", log, ...options });
}

/** Passes the time between two writes until the status is as wanted; the test's own time limit ends it. */
async function until(
  t: TestContext,
  id: string,
  wanted: (status: StatusBlob) => boolean,
): Promise<StatusBlob> {
  for (;;) {
    t.mock.timers.tick(3_000);
    await new Promise(setImmediate);
    const status = await readStatus(store, id, 1);
    if (status && wanted(status)) return status;
  }
}

test("writes a running job's progress and warnings, and every later state", {
  timeout: 600_000,
}, async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const status = writer("runs");
  status.report({ kind: "progress", stage: "read", done: 10 });
  const early = await until(t, "runs", ({ progress }) => progress?.stage === "read");
  assert.deepEqual([early.progress, early.end], [{ stage: "read", done: 10, total: null }, null]);
  status.report({ kind: "warning", warning: { code: "long_gap", message: "a gap", ticker: "A" } });
  status.report({ kind: "progress", stage: "fit", done: 1, total: 2, ticker: "A", epoch: 1 });
  const late = await until(t, "runs", ({ progress }) => progress?.stage === "fit");
  assert.deepEqual(late.progress, { stage: "fit", done: 1, total: 2 });
  assert.deepEqual(late.warnings, [{ code: "long_gap", message: "a gap", ticker: "A" }]);
  status.stop();
});

test("has stored the end when it returns, with timings and the digest of the config", async () => {
  const status = writer("ends", { config: '{"a":1.0}' });
  status.report({ kind: "progress", stage: "write", done: 1, total: 1 });
  status.onTiming({ name: "write", start: 1.5, end: 2 });
  assert.equal(await readStatus(store, "ends", 1), undefined, "no write before its time");
  await status.writeEnd({ record: RECORD });
  const { end, timings, config_sha256 } = (await readStatus(store, "ends", 1))!;
  assert.deepEqual([end, timings], [{ record: RECORD }, [{ name: "write", start: 1.5, end: 2 }]]);
  assert.equal(config_sha256, "c29a44abc114a1d75486434c013102c9e736f526b4fd19658d9492b7b224de6d");
  assert.equal(await readStatus(store, "ends", 2), undefined, "another attempt has its own");
});

test("writes failures, epochs, counts and the summary, which a reader reports once", async () => {
  const status = writer("trains");
  const losses = { train_loss: 0.5, validation_loss: Number.POSITIVE_INFINITY };
  status.report({ kind: "progress", stage: "fit", done: 1, total: 2, ticker: "A", epoch: 1, ...losses });
  const failure = { ticker: "B", code: "diverged", message: "B: the loss is not finite" };
  status.report({ kind: "failure", failure });
  const facts = { model: "ridge", fit: "pooled", as_of: "2024-12-30" } as const;
  const summary = { ...facts, tickers: 2, failed: 0, verdict: null } as const;
  status.report({ kind: "summary", summary });
  await status.writeEnd({ record: RECORD });
  const read = (await readStatus(store, "trains", 1))!;
  const points = [{ ticker: "A", epoch: 1, train_loss: 0.5, validation_loss: null }];
  const events = new StatusEvents();
  assert.deepEqual(events.next(read), {
    failures: [failure],
    counts: { warnings: {}, failures: { diverged: 1 } },
    epochs: { points },
    progress: { stage: "fit", done: 1, total: 2 },
    summary,
  });
  assert.equal(events.next(read), undefined);
});

test("keeps the end of a job readable, however much the job reports", async () => {
  const status = writer("hostile");
  const failures = [];
  for (let i = 0; i < 10_000; i++) {
    const ticker = `${i}${"\u0001".repeat(900)}`;
    const message = `${ticker} has 1 row sig=&`;
    failures.push({ ticker, code: "insufficient_history", message });
    status.report({ kind: "failure", failure: failures[i]! });
    status.report({ kind: "warning", warning: { code: "no_prices", ticker, message } });
    status.report({ kind: "progress", stage: "fit", done: i, ticker, epoch: 1, train_loss: 1 });
    status.onTiming({ name: `fit ${ticker}`, start: 1, end: 2 });
  }
  const problem = problemOf(new MucastError("insufficient_history", failures[0]!.message, { failures }));
  await status.writeEnd({ problem });
  const { size } = (await store.stat("status/hostile.1.json"))!;
  assert.ok(size <= SIZES.statusBlob, `${size} bytes`);
  const read = (await readStatus(store, "hostile", 1))!;
  assert.ok(read.end !== null && "problem" in read.end);
  assert.equal(read.end.problem.code, "insufficient_history");
  assert.deepEqual(read.end.problem.failure_counts, { insufficient_history: 10_000 });
  assert.deepEqual(read.warning_counts, { no_prices: 10_000 });
});

test("removes the signature of a URL from a message", async () => {
  const status = writer("signed");
  const message = "the config's https://a.blob.core.windows.net/c?sv=1&sig=s3cret%2B is odd";
  status.report({ kind: "warning", warning: { code: "ignored_section", message } });
  await status.writeEnd({ problem: problemOf(new MucastError("internal", message)) });
  assert.ok(!JSON.stringify(await readStatus(store, "signed", 1)).includes("s3cret"));
});

test("logs a failed write, and does nothing else", async () => {
  const lines: string[] = [];
  const file = join(folder, "no-folder");
  await writeFile(file, "");
  const status = writer("lost", {
    store: new FolderStore(file, "http://x"),
    log: (line) => lines.push(line),
  });
  await status.writeEnd({ record: RECORD });
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^status\/lost\.1\.json could not be written: /);
});

test("reads the status of a job of a later version, including additions", async () => {
  await writer("later").writeEnd({ record: RECORD });
  const status = (await readStatus(store, "later", 1))!;
  const warnings = [{ code: "added_later", message: "m", added_later: 1 }];
  const progress = { stage: "added_later", done: 1, total: 2 };
  const later = { ...status, warnings, progress, added_later: 1 };
  await store.put("status/later.1.json", JSON.stringify(later));
  assert.deepEqual(await readStatus(store, "later", 1), later as unknown);
});

test("refuses what is no status of the attempt, and names the key", async () => {
  await writer("one").writeEnd({ record: RECORD });
  const other = JSON.stringify(await readStatus(store, "one", 1));
  for (const text of ["{", '{"schema":"mucast.status/2"}', `"${"x".repeat(9 * 2 ** 20)}"`, other]) {
    await store.put("status/odd.1.json", text);
    await assert.rejects(readStatus(store, "odd", 1), ({ code, message }: MucastError) => {
      return code === "invalid_data" && message === "status/odd.1.json is not the status of attempt 1 at odd";
    });
  }
});
