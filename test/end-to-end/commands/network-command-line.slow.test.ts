/** What a shell sees of run_dl_job: stdout, stderr, exit codes, and the files afterwards. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type BlobPair, removeFolders, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import { smallMarket } from "../markets/network-market.ts";
import { networkConfig } from "../networks/network-jobs.ts";
import { type Ended, inputArguments, mucast } from "./command.ts";

let small: BlobPair;
before(async () => {
  small = await writeMarket(smallMarket());
});
after(removeFolders);

const dlArguments = (blobs: BlobPair, config: string, ...more: string[]) => [
  "run_dl_job",
  ...inputArguments(blobs, config),
  ...more,
];

function outputOf({ code, stdout, stderr }: Ended) {
  assert.equal(code, 0, stderr);
  const record = JSON.parse(stdout);
  assert.equal(stdout, `${JSON.stringify(record)}\n`);
  assertValid("result-record", record);
  assert.match(record.execution_name, /^dl-job-[A-Za-z0-9_-]+$/);
  const text = readFileSync(fileURLToPath(record.output_url), "utf8");
  const output = JSON.parse(text);
  assertValid("output-blob", output);
  assert.equal(output.operation, "run_dl_job");
  assert.equal(record.output_name, `nn_engine_${output.id}.json`);
  return { text, output, record };
}

describe("a job that succeeds", { concurrency: 2 }, () => {
  test("switched off by status, trains nothing and warns about it, even without an engine", async () => {
    const config = networkConfig("lstm", { status: false });
    const ended = await mucast(dlArguments(small, config), { env: { MUCAST_PYTHON: "/nowhere/python" } });
    const { output } = outputOf(ended);
    assert.deepEqual([output.mu, output.forecasts, output.training, output.failures], [{}, {}, {}, []]);
    assert.deepEqual(
      output.warnings.map(({ code }: { code: string }) => code),
      ["disabled"],
    );
    assert.match(ended.stderr, /^warning: disabled: /m);
    const sha256 = createHash("sha256").update(readFileSync(small.features)).digest("hex");
    assert.equal(output.provenance.feature_sha256, sha256);
  });
});
