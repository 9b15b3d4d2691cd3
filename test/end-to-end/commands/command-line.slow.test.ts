/** What a shell sees of run_ml_job: stdout, stderr, exit codes, and the files afterwards. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type BlobPair, newFolder, removeFolders, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import type { Refusal } from "../jobs/refused-jobs.ts";
import { dirtyMarket } from "../markets/dirty-market.ts";
import { cleanMarket } from "../markets/market.ts";
import { type CommandOptions, type Ended, jobArguments, jsonLines, mucast } from "./command.ts";

/** The library with the fastest import. */
const QUICK = `{"ML params": {"model": "catboost", "n_splits": 3, "intervals": {},
  "model_params": {"iterations": 3, "depth": 2}}}`;

const LOADED = fileURLToPath(new URL("./loaded-modules.mjs", import.meta.url));

const PROGRESS_LINE =
  /^(reading|fitting|evaluating|writing): [\d.]+( MB)?( of [\d.]+( MB)?)?(, \d+ s left)?$/;

let clean: BlobPair;
let dirty: BlobPair;
before(async () => {
  clean = await writeMarket(cleanMarket("2021-10-29"));
  dirty = await writeMarket(dirtyMarket({ learningEnd: true }));
});
after(removeFolders);

async function outputOf({
  code,
  stdout,
  stderr,
}: Ended): Promise<{ text: string; record: Record<string, string> }> {
  assert.equal(code, 0, stderr);
  const record = JSON.parse(stdout);
  assert.equal(stdout, `${JSON.stringify(record)}\n`);
  assertValid("result-record", record);
  return { text: readFileSync(fileURLToPath(record.output_url), "utf8"), record };
}

describe("a job that succeeds", { concurrency: 2 }, () => {
  let temporary: string;
  let run: Promise<Ended> | undefined;
  /** The job with one worker. */
  const alone = () => {
    run ??= mucast(jobArguments(dirty, QUICK, "--log", "json", "--workers", "1"), { temporary });
    return run;
  };
  before(async () => {
    temporary = join(await newFolder(), "tmp");
  });

  test("leaves one record on stdout, JSON lines on stderr, and one valid output", async () => {
    const ended = await alone();
    const { text, record } = await outputOf(ended);
    assert.match(record.execution_name!, /^ml-worker-job-[A-Za-z0-9_-]+$/);
    assert.equal(fileURLToPath(record.output_url!), join(dirname(dirty.features), record.output_name!));
    const output = JSON.parse(text);
    assertValid("output-blob", output);
    assert.equal(`ml_engine_${output.id}.json`, record.output_name);
    const sha256 = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");
    assert.equal(output.provenance.feature_sha256, sha256(dirty.features));
    assert.equal(output.provenance.data_extractor_sha256, sha256(dirty.prices));

    const lines = jsonLines(ended.stderr);
    const warnings = lines.filter(({ level }) => level === "warning");
    assert.deepEqual(
      warnings.map(({ time: _, level: __, ...warning }) => warning),
      output.warnings.filter(({ code }: { code: string }) => code !== "warm_up_rows"),
    );
    const failures = lines.filter(({ level }) => level === "failure");
    assert.deepEqual(
      failures.map(({ time: _, level: __, ...failure }) => failure),
      output.failures,
    );
    const stages = lines.filter(({ kind }) => kind === "progress").map(({ stage }) => stage);
    assert.deepEqual([...new Set(stages)], ["read", "fit", "evaluate", "write"]);
    assert.deepEqual(readdirSync(temporary), []);
  });

  test("reads everything from the environment, as in a job container, names the output after OPERATION_ID, and loads no module of Azure or S3", async () => {
    const [blobUrl, list] = [join(await newFolder(), "blobs"), join(await newFolder(), "loaded")];
    const env = {
      NODE_OPTIONS: `--import ${LOADED}`,
      LOADED_MODULES: list,
      FEATURE_URL: clean.features,
      DATA_EXTRACTOR_URL: clean.prices,
      CONFIG: QUICK,
      BLOB_URL: blobUrl,
      OPERATION_ID: "op-7",
    };
    const ended = await mucast(["run_ml_job"], { env });
    const { record } = await outputOf(ended);
    for (const line of ended.stderr.trimEnd().split("\n")) assert.match(line, PROGRESS_LINE);
    assert.equal(record.output_name, "ml_engine_op-7.json");
    assert.deepEqual(readdirSync(join(blobUrl, "data")), ["ml_engine_op-7.json"]);
    const loaded = readFileSync(list, "utf8");
    assert.match(loaded, /^commander$/m);
    assert.doesNotMatch(loaded, /azure|aws/);
  });
});

interface CommandRefusal extends Refusal {
  readonly name: string;
  readonly args: () => readonly string[];
  readonly options?: CommandOptions;
}

/** Refusals that only a command can have; refused-ml-jobs.slow.test.ts has the others. */
const OF_THE_COMMAND: readonly CommandRefusal[] = [
  {
    name: "an interpreter that is not there",
    code: "engine_unavailable",
    exit: 4,
    says: /nowhere\/python/,
    args: () => jobArguments(clean, QUICK),
    options: { env: { MUCAST_PYTHON: "/nowhere/python" } },
  },
];

describe("a refused command leaves stdout empty and no file, and reports", { concurrency: 2 }, () => {
  for (const { name, code, exit, says, args, options } of OF_THE_COMMAND) {
    test(`${code} (${exit}) for ${name}`, async () => {
      const blobUrl = join(await newFolder(), "blobs");
      const temporary = join(await newFolder(), "tmp");
      const ended = await mucast([...args(), "--log", "json", "--blob-url", blobUrl], {
        ...options,
        temporary,
      });
      assert.deepEqual([ended.code, ended.stdout], [exit, ""], ended.stderr);
      const problem = jsonLines(ended.stderr).at(-1)!;
      assertValid("problem", problem);
      assert.equal(problem.code, code);
      assert.match(JSON.stringify(problem), says);
      assert.ok(!existsSync(blobUrl), "nothing is made where the output would go");
      assert.deepEqual(readdirSync(temporary), []);
    });
  }

  test("a wrong flag in one sentence, without the signature of a SAS", async () => {
    const ended = await mucast(["run_ml_job", "--feature_url=https://a.example/c?sv=1&sig=SECRET"]);
    assert.deepEqual([ended.code, ended.stdout], [2, ""]);
    assert.match(ended.stderr, /unknown option '--feature_url=/);
    assert.doesNotMatch(ended.stderr, /SECRET/);
  });
});
