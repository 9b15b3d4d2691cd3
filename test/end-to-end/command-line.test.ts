/** What a shell sees of run_ml_job: stdout, stderr, exit codes, and which files there are afterwards. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runMlJob } from "../../src/jobs/ml/run-ml-job.ts";
import { type CommandOptions, type Ended, jobArguments, jsonLines, mucast } from "./command.ts";
import { dirtyMarket } from "./dirty-market.ts";
import { type BlobPair, newFolder, removeFolders, withoutIdentity, writeMarket } from "./job-runs.ts";
import { cleanMarket } from "./market.ts";
import { assertValid } from "./published-schemas.ts";
import { assertRefused, type Refusal } from "./refused-jobs.ts";

/** The library that is imported fastest. */
const QUICK = `{"ML params": {"model": "catboost", "n_splits": 3, "intervals": {},
  "model_params": {"iterations": 3, "depth": 2}}}`;

const PROGRESS_LINE =
  /^(reading|fitting|evaluating|writing): [\d.]+( MB)?( of [\d.]+( MB)?)?(, \d+ s to go)?$/;

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
  test("leaves one record on stdout, JSON lines on stderr, and one valid output", async () => {
    const temporary = join(await newFolder(), "tmp");
    const ended = await mucast(jobArguments(dirty, QUICK, "--log", "json"), { temporary });
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
      output.warnings,
    );
    const failures = lines.filter(({ level }) => level === "failure");
    assert.deepEqual(
      failures.map(({ time: _, level: __, ...failure }) => failure),
      output.failures,
    );
    const stages = lines.filter(({ kind }) => kind === "progress").map(({ stage }) => stage);
    assert.deepEqual([...new Set(stages)], ["read", "fit", "evaluate", "write"]);
    assert.deepEqual(
      readdirSync(temporary).flatMap((base) => readdirSync(join(temporary, base))),
      [],
    );
  });

  test("--quiet silences progress, and neither a warning nor a ticker that is left out", async () => {
    const { stderr } = await mucast(jobArguments(dirty, QUICK, "--quiet"));
    assert.match(stderr, /^warning: window_defaulted: /m);
    assert.match(stderr, /^warning: nonpositive_price: /m);
    assert.match(stderr, /^failed: insufficient_history: \S+ has /m);
    assert.deepEqual(
      stderr.split("\n").filter((line) => !/^(warning|failed): /.test(line)),
      [""],
    );
  });

  test("takes everything from the environment, as a job container does, and OPERATION_ID names the output", async () => {
    const blobUrl = join(await newFolder(), "blobs");
    const env = {
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
  });

  test("writes the same bytes with one worker and with two", async () => {
    const texts: string[] = [];
    for (const workers of ["1", "2"]) {
      const { text } = await outputOf(await mucast(jobArguments(dirty, QUICK, "--workers", workers)));
      texts.push(withoutIdentity(text));
    }
    assert.equal(texts[0], texts[1]);
  });

  test("the schema that `mucast schema` prints is the one outputs were held against", async () => {
    const { stdout } = await mucast(["schema", "output-blob"]);
    const { jsonSchema } = await import("../../src/contract/api/published-schemas.ts");
    assert.deepEqual(JSON.parse(stdout), JSON.parse(JSON.stringify(jsonSchema("output-blob"))));
  });
});

interface CommandRefusal extends Refusal {
  readonly name: string;
  readonly args: () => Promise<readonly string[]> | readonly string[];
  readonly options?: CommandOptions;
}

interface JobRefusal extends Refusal {
  readonly name: string;
  readonly blobs?: () => Promise<BlobPair> | BlobPair;
  /** QUICK where it is missing. */
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
    name: "a blob that is a folder",
    code: "blob_not_found",
    exit: 3,
    says: /not a file/,
    blobs: () => ({ ...clean, prices: dirname(clean.prices) }),
  },
  {
    name: "a truncated data-extraction blob",
    code: "unreadable_blob",
    exit: 3,
    says: /"offset":7000/,
    blobs: () => changed("prices", (text) => text.slice(0, 7_000)),
  },
  {
    name: "an empty blob",
    code: "unreadable_blob",
    exit: 3,
    says: /data_extractor_1/,
    blobs: () => changed("prices", () => ""),
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
    name: "a Learning_end outside the window",
    code: "invalid_data",
    exit: 3,
    says: /2031-01-01/,
    blobs: () => changed("prices", (text) => text.replace("2021-10-29", "2031-01-01")),
  },
  {
    name: "a window that ends before it starts",
    code: "invalid_data",
    exit: 3,
    says: /2001-01-01/,
    blobs: () =>
      changed("prices", (text) =>
        text.replace(/"end": "[^"]*", "Learning_end": "[^"]*"/, '"end": "2001-01-01"'),
      ),
  },
  {
    name: "an unknown model",
    code: "unknown_model",
    exit: 2,
    says: /lightgbm/,
    config: params('{"model": "lightgmb"}'),
  },
  {
    name: "a misspelt key",
    code: "invalid_request",
    exit: 2,
    says: /n_splits/,
    config: params('{"model": "ridge", "n_split": 3}'),
  },
  {
    name: "a parameter that the constructor does not know",
    code: "invalid_model_params",
    exit: 2,
    says: /alpha/,
    config: params('{"model": "ridge", "model_params": {"alhpa": 3}}'),
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
    name: "a config that is broken JSON",
    code: "invalid_request",
    exit: 2,
    says: /config/i,
    config: '{"ML params": ',
  },
];

describe("a job is refused, and makes nothing, with", { concurrency: 2 }, () => {
  for (const { name, blobs = () => clean, config = QUICK, ...refusal } of REFUSALS) {
    test(`${refusal.code} (${refusal.exit}) for ${name}`, async () => {
      await assertRefused(runMlJob, await blobs(), config, refusal);
    });
  }
});

/** Those that only a command meets, and one more of each code. */
const OF_THE_COMMAND: readonly CommandRefusal[] = [
  {
    name: "a blob that is not there",
    code: "blob_not_found",
    exit: 3,
    says: /nowhere\.json/,
    args: () => jobArguments({ ...clean, features: join(clean.folder, "nowhere.json") }, QUICK),
  },
  {
    name: "a truncated feature blob",
    code: "unreadable_blob",
    exit: 3,
    says: /"offset":20000/,
    args: async () => jobArguments(await changed("features", (text) => text.slice(0, 20_000)), QUICK),
  },
  {
    name: "a price that is text",
    code: "invalid_data",
    exit: 3,
    says: /MSFT/,
    args: async () =>
      jobArguments(await changed("prices", (text) => text.replace(/"MSFT": \[[^,]*/, '"MSFT": ["x"')), QUICK),
  },
  {
    name: "a parameter value that only the library can judge",
    code: "invalid_model_params",
    exit: 2,
    says: /subsample/,
    args: () => jobArguments(clean, params('{"model": "xgboost", "model_params": {"subsample": 1.5}}')),
  },
  {
    name: "a config file that is not there",
    code: "invalid_request",
    exit: 2,
    says: /nowhere\.json/,
    args: () => jobArguments(clean, join(clean.folder, "nowhere.json")),
  },
  {
    name: "no blob at all",
    code: "invalid_request",
    exit: 2,
    says: /--feature-url.*--data-extractor-url/,
    args: () => ["run_ml_job", "--config", QUICK],
  },
  {
    name: "a worker count of 0",
    code: "invalid_request",
    exit: 2,
    says: /--workers/,
    args: () => jobArguments(clean, QUICK, "--workers", "0"),
  },
  {
    name: "an origin that is not allowed",
    code: "url_not_allowed",
    exit: 2,
    says: /https:\/\/example\.org/,
    args: () =>
      jobArguments(
        { ...clean, features: "https://example.org/c/data/feature_engine_1.json?sig=secret" },
        QUICK,
        "--blob-url",
        clean.folder,
      ),
  },
  {
    name: "an interpreter that is not there",
    code: "engine_unavailable",
    exit: 4,
    says: /nowhere\/python/,
    args: () => jobArguments(clean, QUICK),
    options: { env: { MUCAST_PYTHON: "/nowhere/python" } },
  },
];

describe("a command that is refused leaves stdout empty, no file, and says", { concurrency: 2 }, () => {
  for (const { name, code, exit, says, args, options } of OF_THE_COMMAND) {
    test(`${code} (${exit}) for ${name}`, async () => {
      const blobUrl = join(await newFolder(), "blobs");
      const temporary = join(await newFolder(), "tmp");
      const given = await args();
      const more = given.includes("--blob-url") ? [] : ["--blob-url", blobUrl];
      const ended = await mucast([...given, "--log", "json", ...more], { ...options, temporary });
      assert.deepEqual([ended.code, ended.stdout], [exit, ""], ended.stderr);
      const problem = jsonLines(ended.stderr).at(-1)!;
      assertValid("problem", problem);
      assert.equal(problem.code, code);
      assert.match(JSON.stringify(problem), says);
      assert.doesNotMatch(ended.stderr, /secret/);
      assert.ok(!existsSync(blobUrl), "nothing is made where the output would go");
      assert.deepEqual(
        readdirSync(temporary).flatMap((base) => readdirSync(join(temporary, base))),
        [],
      );
    });
  }

  test("output_failed (3) for a name that exists, which stays as it was", async () => {
    const blobUrl = await newFolder();
    const taken = join(blobUrl, "data", "ml_engine_op-1.json");
    await mkdir(dirname(taken));
    await writeFile(taken, "before");
    const args = jobArguments(clean, QUICK, "--blob-url", blobUrl, "--log", "json");
    const ended = await mucast(args, { env: { OPERATION_ID: "op-1" } });
    assert.deepEqual([ended.code, ended.stdout], [3, ""]);
    assert.equal(jsonLines(ended.stderr).at(-1)!.code, "output_failed");
    assert.equal(readFileSync(taken, "utf8"), "before");
    assert.deepEqual(readdirSync(dirname(taken)), ["ml_engine_op-1.json"]);
  });

  test("of two jobs with one name, exactly one writes the output", async () => {
    const blobUrl = await newFolder();
    const args = jobArguments(clean, QUICK, "--blob-url", blobUrl, "--log", "json");
    const ended = await Promise.all([1, 2].map(() => mucast(args, { env: { OPERATION_ID: "twice" } })));
    assert.deepEqual(ended.map(({ code }) => code).sort(), [0, 3]);
    assert.equal(ended.filter(({ stdout }) => stdout === "").length, 1);
    assert.deepEqual(readdirSync(join(blobUrl, "data")), ["ml_engine_twice.json"]);
  });

  test("a wrong flag in a sentence, and points to the help", async () => {
    const ended = await mucast(["run_ml_job", "--feature-urls", "x"]);
    assert.deepEqual([ended.code, ended.stdout], [2, ""]);
    assert.match(ended.stderr, /--feature-url/);
  });

  test("no SAS, also where a flag is misspelt", async () => {
    const ended = await mucast(["run_ml_job", "--feature_url=https://a.example/c?sv=1&sig=SECRET"]);
    assert.deepEqual([ended.code, ended.stdout], [2, ""]);
    assert.match(ended.stderr, /unknown option '--feature_url=/);
    assert.doesNotMatch(ended.stderr, /SECRET/);
  });
});

test("a result that stdout does not take is an error, and no defect", async () => {
  const through = ["sh", "-c", 'exec "$@" >/dev/full', "sh"];
  const { code, stderr } = await mucast(["schema"], { through });
  assert.equal(code, 3, stderr);
  assert.match(stderr, /^error: output_failed: .*\n {2}stdout could not be written: no space left/);
  assert.doesNotMatch(stderr, /Node\.js|at .*\.ts/);
});
