/** How a job in this process is refused: with the problem that a shell and a service show. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { blobPolicy } from "../../../src/blob/policy.ts";
import { ERROR_TABLE, type ErrorCode } from "../../../src/contract/errors/error-codes.ts";
import { MucastError } from "../../../src/contract/errors/errors.ts";
import { problemOf } from "../../../src/contract/problems/problem.ts";
import type { OpenEngine } from "../../../src/jobs/shared/job.ts";
import { type BlobPair, type Job, newFolder } from "./job-runs.ts";
import { assertValid } from "./published-schemas.ts";
import { openSharedEngine } from "./shared-engines.ts";

export interface Refusal {
  readonly code: string;
  /** Exit code of the command that runs such a job. */
  readonly exit: number;
  /** What the problem must contain somewhere: the value, the place or what to do. */
  readonly says: RegExp;
}

/** For a job that is refused before it has an engine. */
export const noEngine: OpenEngine = () => assert.fail("an engine was looked for");

/** Asserts that `job` ends with a valid problem with these contents, and creates nothing in the place of its output. */
export async function assertRefused(
  job: Job,
  blobs: BlobPair,
  config: string,
  { code, exit, says }: Refusal,
  openEngine: OpenEngine = openSharedEngine,
): Promise<void> {
  const blobUrl = join(await newFolder(), "blobs");
  const request = { featureUrl: blobs.features, dataExtractorUrl: blobs.prices, config, blobUrl, id: "no" };
  const context = {
    workers: 1,
    policy: blobPolicy({ BLOB_URL: blobUrl }),
    report: () => undefined,
    signal: new AbortController().signal,
    openEngine,
  };
  await assert.rejects(job(request, context), (error: unknown) => {
    assert.ok(error instanceof MucastError, String(error));
    const problem = problemOf(error);
    assertValid("problem", problem);
    assert.deepEqual([problem.code, ERROR_TABLE[problem.code as ErrorCode].exit], [code, exit]);
    assert.match(JSON.stringify(problem), says);
    return true;
  });
  assert.ok(!existsSync(blobUrl), "nothing is made where the output would go");
}
