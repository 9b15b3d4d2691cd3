/** What a shell sees of run_dl_job: stdout, stderr, exit codes, and the files afterwards. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type BlobPair, newFolder, removeFolders, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import { dirtyNetworkMarket, smallMarket } from "../markets/network-market.ts";
import { networkConfig } from "../networks/network-jobs.ts";
import { type Ended, inputArguments, jsonLines, mucast } from "./command.ts";

let small: BlobPair;
let dirty: BlobPair;
before(async () => {
  small = await writeMarket(smallMarket());
  dirty = await writeMarket(dirtyNetworkMarket({ learningEnd: true }));
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
  test("reads everything from the environment, and leaves one record on stdout, JSON lines on stderr, and one valid output, named by OPERATION_ID", async () => {
    const [temporary, blobUrl] = [join(await newFolder(), "tmp"), join(await newFolder(), "blobs")];
    const config = networkConfig("mlp", { training: { loss_type: { a: 1 } }, intervals: {} });
    const env = {
      FEATURE_URL: dirty.features,
      DATA_EXTRACTOR_URL: dirty.prices,
      CONFIG: config,
      BLOB_URL: blobUrl,
      OPERATION_ID: "op-7",
    };
    const ended = await mucast(["run_dl_job", "--log", "json", "--workers", "2"], { temporary, env });
    const { output, record } = outputOf(ended);
    assert.equal(record.output_name, "nn_engine_op-7.json");
    assert.deepEqual(readdirSync(join(blobUrl, "data")), ["nn_engine_op-7.json"]);
    const sha256 = (content: string | Buffer) => createHash("sha256").update(content).digest("hex");
    assert.equal(output.provenance.feature_sha256, sha256(readFileSync(dirty.features)));
    assert.equal(output.provenance.data_extractor_sha256, sha256(readFileSync(dirty.prices)));
    assert.equal(output.provenance.config_sha256, sha256(config));
    assert.equal(output.provenance.device, "cpu");
    assert.equal(output.provenance.seed, 7);
    assert.equal(output.provenance.threads_per_fit, 1);
    assert.match(output.provenance.versions.torch, /^\d+\.\d+/);

    const lines = jsonLines(ended.stderr);
    const told = (level: string) =>
      lines.filter((line) => line.level === level).map(({ time: _, level: __, ...rest }) => rest);
    assert.deepEqual(
      told("warning"),
      output.warnings.filter(({ code }: { code: string }) => code !== "warm_up_rows"),
    );
    assert.deepEqual(told("failure"), output.failures);
    const loss = output.warnings.filter(({ code }: { code: string }) => code === "unknown_loss_type");
    assert.equal(loss.length, 1);
    assert.match(loss[0].message, /\{"a":1\}/);

    const progress = lines.filter(({ kind }) => kind === "progress");
    assert.deepEqual([...new Set(progress.map(({ stage }) => stage))], ["read", "fit", "evaluate", "write"]);
    const epochs = progress.filter(({ epoch }) => epoch !== undefined);
    for (const [ticker, { epochs: curve }] of Object.entries<{ epochs: object[] }>(output.training)) {
      const heard = epochs.filter((line) => line.ticker === ticker);
      assert.deepEqual(
        heard.map(({ epoch, train_loss, validation_loss }) => ({ epoch, train_loss, validation_loss })),
        curve.map((losses, i) => ({ epoch: i + 1, ...losses })),
        ticker,
      );
    }
    const fits = progress.filter(({ stage }) => stage === "fit");
    const done = fits.map((line) => Number(line.done));
    assert.deepEqual(
      done,
      done.toSorted((a, b) => a - b),
      "progress never goes back",
    );
    assert.equal(fits.at(-1)!.done, fits.at(-1)!.total);
    assert.deepEqual(readdirSync(temporary), []);
  });

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

test("engine_unavailable (4) for a missing interpreter", async () => {
  const env = { MUCAST_PYTHON: "/nowhere/python" };
  const ended = await mucast(dlArguments(small, networkConfig("mlp"), "--log", "json"), { env });
  assert.deepEqual([ended.code, ended.stdout], [4, ""]);
  assert.equal(jsonLines(ended.stderr).at(-1)!.code, "engine_unavailable");
});
