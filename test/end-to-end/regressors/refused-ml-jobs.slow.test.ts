/** What run_ml_job refuses, with the problem and the exit code of each. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { MucastError } from "../../../src/contract/errors/errors.ts";
import { runMlJob } from "../../../src/jobs/ml/run-ml-job.ts";
import { type BlobPair, type Job, newFolder, removeFolders, runJob, writeMarket } from "../jobs/job-runs.ts";
import { assertRefused, type Refusal } from "../jobs/refused-jobs.ts";
import { cleanMarket } from "../markets/market.ts";

/** The library with the fastest import. */
const QUICK = `{"ML params": {"model": "catboost", "n_splits": 3, "model_params": {"iterations": 3, "depth": 2}}}`;

let clean: BlobPair;
before(async () => {
  clean = await writeMarket(cleanMarket("2021-10-29"));
});
after(removeFolders);

interface JobRefusal extends Refusal {
  readonly name: string;
  readonly blobs?: () => Promise<BlobPair> | BlobPair;
  /** QUICK if it is missing. */
  readonly config?: string;
}

async function changed(side: "features" | "prices", change: (text: string) => string): Promise<BlobPair> {
  const pair = await writeMarket(cleanMarket("2021-10-29"));
  await writeFile(pair[side], change(readFileSync(pair[side], "utf8")));
  return pair;
}

const params = (text: string) => `{"ML params": ${text}}`;

const REFUSALS: readonly JobRefusal[] = [
  {
    name: "a truncated data-extraction blob",
    code: "unreadable_blob",
    exit: 3,
    says: /"offset":7000/,
    blobs: () => changed("prices", (text) => text.slice(0, 7_000)),
  },
  {
    name: "a date that stands twice",
    code: "invalid_data",
    exit: 3,
    says: /2021-01-05/,
    blobs: () => changed("features", (text) => text.replace('"2021-01-06"', '"2021-01-05"')),
  },
  {
    name: "a column that is too short",
    code: "invalid_data",
    exit: 3,
    says: /vol_20/,
    blobs: () => changed("features", (text) => text.replace(/"vol_20": \[[^,]*, /, '"vol_20": [')),
  },
  {
    name: "a classification objective",
    code: "invalid_model_params",
    exit: 2,
    says: /regression/i,
    config: params('{"model": "xgboost", "model_params": {"objective": "binary:logistic"}}'),
  },
  {
    name: "an alpha of 1",
    code: "invalid_request",
    exit: 2,
    says: /intervals\.alpha/,
    config: params('{"model": "ridge", "intervals": {"alpha": 1}}'),
  },
  {
    name: "a truncated feature blob",
    code: "unreadable_blob",
    exit: 3,
    says: /"offset":20000/,
    blobs: () => changed("features", (text) => text.slice(0, 20_000)),
  },
  {
    name: "a price that is text",
    code: "invalid_data",
    exit: 3,
    says: /MSFT/,
    blobs: () => changed("prices", (text) => text.replace(/"MSFT": \[[^,]*/, '"MSFT": ["x"')),
  },
  {
    name: "a parameter value that only the library can judge",
    code: "invalid_model_params",
    exit: 2,
    says: /subsample/,
    config: params('{"model": "xgboost", "model_params": {"subsample": 1.5}}'),
  },
  {
    name: "an origin that is not allowed",
    code: "url_not_allowed",
    exit: 2,
    says: /^(?!.*secret).*https:\/\/example\.org/s,
    blobs: () => ({ ...clean, features: "https://example.org/c/data/feature_engine_1.json?sig=secret" }),
  },
];

describe("a job is refused, and creates nothing, with", { concurrency: 2 }, () => {
  for (const { name, blobs = () => clean, config = QUICK, ...refusal } of REFUSALS) {
    test(`${refusal.code} (${refusal.exit}) for ${name}`, async () => {
      await assertRefused(runMlJob, await blobs(), config, refusal);
    });
  }
});

/** run_ml_job whose output in `blobUrl` has this id. */
const named =
  (blobUrl: string, id: string): Job =>
  (request, context) =>
    runMlJob({ ...request, blobUrl, id }, context);

const isTaken = (error: unknown) => error instanceof MucastError && error.code === "output_failed";

test("a job whose output exists fails with output_failed, and leaves the output unchanged", async () => {
  const blobUrl = await newFolder();
  const taken = join(blobUrl, "data", "ml_engine_op-1.json");
  await mkdir(dirname(taken));
  await writeFile(taken, "before");
  await assert.rejects(runJob(clean, QUICK, 1, named(blobUrl, "op-1")), isTaken);
  assert.equal(readFileSync(taken, "utf8"), "before");
  assert.deepEqual(readdirSync(dirname(taken)), ["ml_engine_op-1.json"]);
});

test("exactly one of two jobs with the same name writes the output", async () => {
  const blobUrl = await newFolder();
  const ends = await Promise.allSettled([1, 2].map(() => runJob(clean, QUICK, 1, named(blobUrl, "twice"))));
  assert.deepEqual(ends.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  assert.ok(ends.every((end) => end.status === "fulfilled" || isTaken(end.reason)));
  assert.deepEqual(readdirSync(join(blobUrl, "data")), ["ml_engine_twice.json"]);
});
