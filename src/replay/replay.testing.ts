/** An output with its inputs in a folder, changed copies of it, and their replay in this process. */
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { newFolder, runJob } from "../../test/end-to-end/jobs/job-runs.ts";
import { assertValid } from "../../test/end-to-end/jobs/published-schemas.ts";
import { openQuickEngine } from "../../test/end-to-end/jobs/shared-engines.ts";
import type { BlobPolicy } from "../blob/policy.ts";
import type { OutputBlob } from "../contract/output/output-blob.ts";
import type { ReplayBlob } from "../contract/output/replay-blob.ts";
import type { OpenEngine } from "../jobs/shared/job.ts";
import { type ReplayRequest, replayOutput } from "./replay.ts";

export const TINY = "test/cases/tiny/data";
export const [FEATURES, PRICES] = ["feature_engine_tiny.json", "data_extractor_tiny.json"] as const;

/** catboost, because its import is the fastest; with sections of other services. */
export const CONFIG = `{"keys": {"password": "hunter2"}, "ML params": {"model": "catboost", "n_splits": 2, "cv_test_size": 5,
  "intervals": {"alpha": 0.25, "method": "split"}, "model_params": {"iterations": 2.0, "depth": 2}}, "7": {}}`;

/** An output in a folder of a storage, with its inputs beside it. */
export interface Place {
  readonly folder: string;
  readonly output: string;
  readonly text: string;
}

export async function placeOf(config = CONFIG): Promise<Place> {
  const folder = await newFolder();
  const data = join(folder, "data");
  mkdirSync(data);
  for (const name of [FEATURES, PRICES]) copyFileSync(join(TINY, name), join(data, name));
  const pair = { folder, features: join(data, FEATURES), prices: join(data, PRICES) };
  const { text, output } = await runJob(pair, config, 1, undefined, openQuickEngine);
  return { folder: data, output: join(data, `ml_engine_${output.id}.json`), text };
}

export const noEngine: OpenEngine = () => assert.fail("the job was run");

/** The verdict, which is valid and contains neither a path of the machine nor a secret of these tests. */
export async function replay(
  request: Omit<ReplayRequest, "id">,
  openEngine: OpenEngine = openQuickEngine,
  policy: BlobPolicy = { allowed: [] },
): Promise<ReplayBlob> {
  const signal = new AbortController().signal;
  const context = { workers: 2, policy, report: () => undefined, signal, openEngine };
  const verdict = await replayOutput({ id: "r", ...request }, context);
  assertValid("replay-blob", verdict);
  assert.doesNotMatch(JSON.stringify(verdict), new RegExp(`${tmpdir()}|hunter2|sig=`));
  return verdict;
}

/** The changed output, in a separate folder with both inputs. */
export async function changed(
  { folder, text, output }: Place,
  change: (text: string) => string,
): Promise<string> {
  const other = await newFolder();
  for (const name of [FEATURES, PRICES]) copyFileSync(join(folder, name), join(other, name));
  const path = join(other, basename(output));
  const after = change(text);
  assert.notEqual(after, text, "the change changes something");
  writeFileSync(path, after);
  return path;
}

/** The text of a document as jobs write it, with a part changed. */
export function edited(change: (document: OutputBlob) => void): (text: string) => string {
  return (text) => {
    const document = JSON.parse(text);
    change(document);
    // A number that the caller wrote as 2.0 is recorded as 2.0.
    return JSON.stringify(document).replace('"iterations":2,', '"iterations":2.0,');
  };
}

/** The bytes of a file, with the lowest digit of the number after `mark` changed. */
export function changeDigit(path: string, mark: string): void {
  const text = readFileSync(path, "utf8");
  const at = text.indexOf(mark) + mark.length;
  const digit = /\d(?=[,\]}\s])/.exec(text.slice(at))!;
  const place = at + digit.index;
  writeFileSync(path, `${text.slice(0, place)}${(Number(text[place]) + 1) % 10}${text.slice(place + 1)}`);
}
