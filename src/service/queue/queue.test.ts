/** The parts of the queue that need no database. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import type { EventBatch } from "../../contract/output/job-events.ts";
import type { OperationRow } from "../database/tables.ts";
import { CoreBudget } from "./dispatcher.ts";
import { findOutput } from "./finish-attempt.ts";
import { LEASE_SECONDS, SeenLeases } from "./leases.ts";
import { batchProgress, StagePace } from "./running-job.ts";

const LEASE = { id: "op", attempt: 1, owner: "elsewhere", beat: 1 };

/** Looks every 5 s from one time to another, seconds. @returns the times at which a lease had expired. */
function look(seen: SeenLeases, from: number, to: number, changes: (now: number) => Partial<typeof LEASE>) {
  const expired: number[] = [];
  for (let now = from; now <= to; now += 5)
    if (seen.findUnchanged([{ ...LEASE, ...changes(now) }], now * 1_000).length > 0) expired.push(now);
  return expired;
}

test("a lease expires when it has not changed for its length by the observer's clock", () => {
  const same = () => ({});
  assert.deepEqual(look(new SeenLeases(), 1_000, 1_025, same), [1_000 + LEASE_SECONDS, 1_025]);
  const [renewed, claimed] = [
    look(new SeenLeases(), 0, 100, (now) => ({ beat: Math.floor(now / 15) })),
    look(new SeenLeases(), 0, 100, (now) => ({ attempt: Math.floor(now / 15) })),
  ];
  assert.deepEqual([renewed, claimed], [[], []]);
  // This process, or the database, stands still: the lease gets its whole time again.
  const seen = new SeenLeases();
  assert.deepEqual(look(seen, 0, 15, same), []);
  assert.deepEqual(look(seen, 600, 620, same), [620]);
});

test("running jobs have equal shares of all cores, whatever the order in which they start and end", () => {
  for (const cores of [1, 2, 3, 7, 16]) {
    const budget = new CoreBudget(cores, 6);
    const running: { cores: number; setCores(cores: number): void }[] = [];
    for (let step = 0; step < 200; step++) {
      if (running.length < budget.jobs && (step * 7) % 5 < 3) {
        const job = {
          cores: budget.next,
          setCores(changed: number) {
            job.cores = changed;
          },
        };
        running.push(job);
        budget.add(job);
      } else if (running.length > 0) budget.remove(running.splice((step * 3) % running.length, 1)[0]!);
      const shares = running.map((job) => job.cores);
      const sum = shares.reduce((total, share) => total + share, 0);
      assert.deepEqual([sum, budget.taken], running.length === 0 ? [0, 0] : [cores, cores]);
      if (shares.length > 0) assert.ok(Math.max(...shares) - Math.min(...shares) <= 1, String(shares));
      assert.ok(running.length <= Math.min(cores, 6));
    }
  }
});

test("progress has its share and, after some units, the seconds that the rest of the stage takes", () => {
  const pace = new StagePace();
  const at = (stage: "read" | "fit", done: number, total: number | null, seconds: number) => {
    const { percent, seconds_left } = pace.complete({ stage, done, total }, seconds * 1_000);
    return [percent, seconds_left];
  };
  assert.deepEqual(at("read", 100, null, 0), [undefined, undefined]);
  assert.deepEqual(at("fit", 0, 100, 10), [0, undefined], "the import of the libraries");
  assert.deepEqual(at("fit", 1, 100, 20), [1, undefined]);
  assert.deepEqual(at("fit", 4, 100, 23), [4, undefined]);
  assert.deepEqual(at("fit", 11, 100, 30), [11, 89]);
  assert.deepEqual(at("fit", 100, 100, 120), [100, undefined]);
  assert.deepEqual(at("fit", 1, 3, 130), [33.3, undefined], "another attempt");
});

function epochs(epoch: number): EventBatch {
  const point = { ticker: "A", epoch, train_loss: 1 / epoch, validation_loss: 1 / epoch };
  return { epochs: { points: [point] } };
}

test("batches are stored one at a time once the batcher begins, and those that arrive meanwhile together, in bounded memory", async () => {
  const stored: EventBatch[] = [];
  const held = Promise.withResolvers<void>();
  const store = (batch: EventBatch) => {
    stored.push(batch);
    return held.promise;
  };
  const batcher = batchProgress(store, (error) => assert.fail(error as Error));
  batcher.take(epochs(1));
  batcher.take(epochs(2));
  await batcher.flush();
  assert.equal(stored.length, 0);
  batcher.begin();
  const failureOf = (ticker: string) => ({ ticker, code: "fit_failed", message: "why" });
  for (let epoch = 3; epoch <= 50_000; epoch++)
    batcher.take({ ...epochs(epoch), failures: [failureOf(`T${epoch}`)] });
  batcher.take({ progress: { stage: "fit", done: 2, total: null } });
  batcher.take({ progress: { stage: "fit", done: 3, total: null } });
  await turn();
  assert.equal(stored.length, 1, "one at a time");
  held.resolve();
  await batcher.flush();
  assert.deepEqual(
    stored.map((batch) => batch.epochs!.points.at(-1)!.epoch),
    [2, 50_000],
  );
  const { epochs: batched, failures, progress } = stored[1]!;
  assert.ok(batched!.points.length <= 202);
  assert.equal(batched!.points.length + batched!.left_out!, 49_998);
  assert.deepEqual([failures?.length, progress], [200, { stage: "fit", done: 3, total: null }]);
});

const folder = mkdtempSync(join(tmpdir(), "mucast-found-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("the output of an operation has its id and the digest of its config, and is in the space of its row", async () => {
  const config_sha256 = createHash("sha256").update("{}").digest("hex");
  const store = new FolderStore(folder, "http://127.0.0.1:8080");
  const space = "key-0123456789abcdef";
  const options = { operation: "run_dl_job", output_url: "/data/nn_engine_1.json" };
  const row = { id: "0123456789", config_sha256, space: "", options } as unknown as OperationRow;
  const { id } = row;
  const put = (name: string, document: object, into = "") =>
    store.within(into).put(`data/${name}_${id}.json`, JSON.stringify(document));
  await put("ml_engine", { id, provenance: { config_sha256 } });
  await put("audit", { id, inputs: { config_sha256 } });
  await put("replay", { id, verdict: "identical" });
  const find = async (changed: Partial<OperationRow>) =>
    (await findOutput(store, { ...row, ...changed }))?.output_name;
  for (const [operation, name] of [
    ["run_ml_job", "ml_engine"],
    ["audit", "audit"],
    ["replay", "replay"],
  ] as const) {
    assert.equal(await find({ operation }), `${name}_${id}.json`);
    assert.equal(await find({ operation, id: "other" }), undefined);
    assert.equal(await find({ operation, space }), undefined, "another caller's, or of before");
  }
  assert.equal(await find({ operation: "audit", config_sha256: "" }), undefined);
  await put("ml_engine", { id, provenance: { config_sha256 } }, space);
  const found = await findOutput(store, { ...row, operation: "run_ml_job", space });
  assert.equal(found?.output_url, `http://127.0.0.1:8080/data/ml_engine_${id}.json`);
});
