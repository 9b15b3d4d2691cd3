/** What run_ml_job refuses, with the problem and the exit code of each. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ERROR_TABLE, type ErrorCode } from "../../../src/contract/errors/error-codes.ts";
import { MucastError } from "../../../src/contract/errors/errors.ts";
import { runMlJob } from "../../../src/jobs/run-job.ts";
import { type BlobPair, type Job, newFolder, removeFolders, runJob, writeMarket } from "../jobs/job-runs.ts";
import { assertRefused } from "../jobs/refused-jobs.ts";
import { cleanMarket } from "../markets/market.ts";

/** The library with the fastest import. */
const QUICK = `{"ML params": {"model": "catboost", "n_splits": 3, "model_params": {"iterations": 3, "depth": 2}}}`;

let clean: BlobPair;
before(async () => {
  clean = await writeMarket(cleanMarket("2021-10-29"));
});
after(removeFolders);

const changed = (side: "features" | "prices", change: (text: string) => string) => async () => {
  const pair = await writeMarket(cleanMarket("2021-10-29"));
  await writeFile(pair[side], change(readFileSync(pair[side], "utf8")));
  return pair;
};

type Blobs = () => Promise<BlobPair> | BlobPair;

/** Refusals for blobs, or for the parameters of a config. src/cli/advice.test.ts has those of a beginner. */
const REFUSALS: readonly [name: string, code: ErrorCode, says: RegExp, of: Blobs | string][] = [
  [
    "a truncated data-extraction blob",
    "unreadable_blob",
    /ends early/,
    changed("prices", (text) => text.slice(0, 7_000)),
  ],
  [
    "a date that stands twice",
    "invalid_data",
    /2021-01-05/,
    changed("features", (text) => text.replace('"2021-01-06"', '"2021-01-05"')),
  ],
  [
    "a column that is too short",
    "invalid_data",
    /vol_20/,
    changed("features", (text) => text.replace(/"vol_20": \[[^,]*, /, '"vol_20": [')),
  ],
  [
    "a price that is text",
    "invalid_data",
    /MSFT/,
    changed("prices", (text) => text.replace(/"MSFT": \[[^,]*/, '"MSFT": ["x"')),
  ],
  [
    "an origin that is not allowed",
    "url_not_allowed",
    /^(?!.*secret).*https:\/\/example\.org/s,
    () => ({ ...clean, features: "https://example.org/c/data/feature_engine_1.json?sig=secret" }),
  ],
  [
    "a classification objective",
    "invalid_model_params",
    /regression/i,
    '{"model": "xgboost", "model_params": {"objective": "binary:logistic"}}',
  ],
  [
    "a value that only the library can judge",
    "invalid_model_params",
    /subsample/,
    '{"model": "xgboost", "model_params": {"subsample": 1.5}}',
  ],
  ["an alpha of 1", "invalid_request", /intervals\.alpha/, '{"model": "ridge", "intervals": {"alpha": 1}}'],
];

describe("a job is refused, and creates nothing, with", { concurrency: 2 }, () => {
  for (const [name, code, says, of] of REFUSALS) {
    test(`${code} for ${name}`, async () => {
      const [blobs, config] = typeof of === "string" ? [clean, `{"ML params": ${of}}`] : [await of(), QUICK];
      await assertRefused(runMlJob, blobs, config, { code, exit: ERROR_TABLE[code].exit!, says });
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
