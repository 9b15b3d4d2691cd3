/** What a shell sees of run_dl_job: stdout, stderr, exit codes, and which files there are afterwards. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runDlJob } from "../../src/jobs/dl/run-dl-job.ts";
import { type Ended, inputArguments, jsonLines, mucast } from "./command.ts";
import { type BlobPair, newFolder, removeFolders, unjudged, writeMarket } from "./job-runs.ts";
import { networkConfig, runNetworkJob } from "./network-jobs.ts";
import { dirtyNetworkMarket, smallMarket, without } from "./network-market.ts";
import { assertValid } from "./published-schemas.ts";
import { assertRefused, noEngine, type Refusal } from "./refused-jobs.ts";
import { openSharedEngine } from "./shared-engines.ts";

let small: BlobPair;
let dirty: BlobPair;
let single: BlobPair;
before(async () => {
  small = await writeMarket(smallMarket());
  dirty = await writeMarket(dirtyNetworkMarket({ learningEnd: true }));
  single = await writeMarket(without(smallMarket(), "MSFT", "JPM", "KO"));
});
after(removeFolders);

const MLP = networkConfig("mlp");

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
  test("leaves one record on stdout, JSON lines on stderr, and one valid output", async () => {
    const temporary = join(await newFolder(), "tmp");
    const config = networkConfig("mlp", { training: { loss_type: { a: 1 } }, intervals: {} });
    const ended = await mucast(dlArguments(dirty, config, "--log", "json", "--workers", "2"), { temporary });
    const { output } = outputOf(ended);
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
    assert.deepEqual(told("warning"), output.warnings);
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
    assert.deepEqual(
      readdirSync(temporary).flatMap((base) => readdirSync(join(temporary, base))),
      [],
    );
  });

  test("takes everything from the environment, tells an unknown loss, and OPERATION_ID names the output", async () => {
    const blobUrl = join(await newFolder(), "blobs");
    const env = {
      FEATURE_URL: small.features,
      DATA_EXTRACTOR_URL: small.prices,
      CONFIG: networkConfig("portfolio_lstm", { training: { loss_type: "MSE" } }),
      BLOB_URL: blobUrl,
      OPERATION_ID: "op-7",
    };
    const ended = await mucast(["run_dl_job"], { env });
    const { record, output } = outputOf(ended);
    assert.equal(record.output_name, "nn_engine_op-7.json");
    assert.deepEqual(readdirSync(join(blobUrl, "data")), ["nn_engine_op-7.json"]);
    assert.match(ended.stderr, /^warning: unknown_loss_type: .*"MSE"/m);
    assert.match(ended.stderr, /^fitting: /m);
    assert.deepEqual(Object.keys(output.training), ["portfolio"]);
  });

  test("switched off by status, trains nothing and says so, also without an engine", async () => {
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

  test("with nothing but its option, every default as documented, and sections of others not used", async () => {
    const option = "portfolio_transformer";
    const config = `{"NN params": {"Other": {}, "Dot prediction": {"current option": "${option}",
      "models_params": {"transformer": {"nhead": 3}}}}, "more": {}}`;
    const { output } = outputOf(await mucast(dlArguments(small, config)));
    assert.ok(output.training.portfolio.epochs.length <= 20);
    assert.equal(output.provenance.seed, 42);
    const model = JSON.stringify(output.model);
    for (const value of ["robust", "adam", "r2", "0.001", "64", "256", option])
      assert.ok(model.includes(value), value);
    assert.deepEqual(
      unjudged(output.warnings).map(({ code }) => code),
      ["ignored_section", "ignored_section"],
    );
  });
});

test("a loss_type that is not known is mse, of whatever type it is, and the output says which", async () => {
  const run = (loss_type: unknown) =>
    runNetworkJob(single, networkConfig("mlp", { training: { loss_type } }));
  const known = await run("mse");
  assert.deepEqual(unjudged(known.output.warnings), []);
  for (const [loss, shown] of [
    [7, /\b7\b/],
    [null, /null/],
  ] as const) {
    const unknown = await run(loss);
    assert.deepEqual([unknown.output.mu, unknown.output.training], [known.output.mu, known.output.training]);
    assert.deepEqual(
      unjudged(unknown.output.warnings).map(({ code }) => code),
      ["unknown_loss_type"],
    );
    assert.match(unknown.output.warnings[0]!.message, shown);
    const told = unknown.events.flatMap((event) => (event.kind === "warning" ? [event.warning] : []));
    assert.deepEqual(told, unknown.output.warnings);
  }
});

/** invalid_request and 2 unless others are named. */
interface NamedRefusal extends Partial<Omit<Refusal, "says">>, Pick<Refusal, "says"> {
  readonly name: string;
  readonly config: string;
}

const cnn = (models: object, lookback: number) =>
  networkConfig("cnn", { models: { cnn: models }, data: { lookback } });

const REFUSALS: readonly NamedRefusal[] = [
  {
    name: "nhead that does not divide d_model",
    says: /nhead.*(64|3)|(64|3).*nhead/,
    config: networkConfig("transformer", { models: { transformer: { nhead: 3 } } }),
  },
  {
    name: "nhead that does not divide d_model in the joint one",
    says: /models_params\.portfolio_transformer/,
    config: networkConfig("portfolio_transformer", { models: { portfolio_transformer: { d_model: 10 } } }),
  },
  { name: "a lookback too short for the pooling of two layers", says: /lookback/, config: cnn({}, 3) },
  {
    name: "a lookback too short for a wide pool",
    says: /pool_size/,
    config: cnn({ filters: [4], pool_size: 8 }, 5),
  },
  {
    name: "a misspelt key, with the nearest",
    says: /training_params\.learning_rat\b.*learning_rate/,
    config: networkConfig("mlp", { training: { learning_rat: 0.1 } }),
  },
  {
    name: "a misspelt section, with the nearest",
    says: /data_processing/,
    config: '{"NN params": {"Dot prediction": {"current option": "mlp", "data_procesing": {}}}}',
  },
  {
    name: "an unknown option, with the nearest",
    says: /transformer/,
    config: networkConfig("transfomer" as "mlp"),
  },
  { name: "no option", says: /current option/, config: '{"NN params": {"Dot prediction": {}}}' },
  { name: "no section", says: /Dot prediction/, config: '{"NN params": {}}' },
  { name: "the other job's config", says: /NN params/, config: '{"ML params": {"model": "ridge"}}' },
  {
    name: "text where a number belongs",
    says: /training_params\.epochs/,
    config: networkConfig("mlp", { training: { epochs: "20" } }),
  },
  {
    name: "half an epoch",
    says: /training_params\.epochs/,
    config: networkConfig("mlp", { training: { epochs: 0.5 } }),
  },
  { name: "no epoch", says: /epochs/, config: networkConfig("mlp", { training: { epochs: 0 } }) },
  {
    name: "a rate of 0",
    says: /learning_rate/,
    config: networkConfig("mlp", { training: { learning_rate: 0 } }),
  },
  { name: "a patience of 0", says: /patience/, config: networkConfig("mlp", { training: { patience: 0 } }) },
  {
    name: "a negative decay",
    says: /weight_decay/,
    config: networkConfig("mlp", { training: { weight_decay: -1 } }),
  },
  {
    name: "a negative clip",
    says: /grad_clip/,
    config: networkConfig("mlp", { training: { grad_clip: -1 } }),
  },
  {
    name: "an optimizer in capitals",
    says: /adam/,
    config: networkConfig("mlp", { training: { optimizer: "ADAM" } }),
  },
  {
    name: "a dropout of 1",
    says: /models_params\.mlp\.dropout/,
    config: networkConfig("mlp", { models: { mlp: { dropout: 1 } } }),
  },
  {
    name: "no hidden layer",
    says: /hidden_dims/,
    config: networkConfig("lstm", { models: { lstm: { hidden_dims: [] } } }),
  },
  {
    name: "a scaler that is none",
    says: /scaler/,
    config: networkConfig("mlp", { data: { scaler: "none" } }),
  },
  { name: "a batch of 0", says: /batch_size/, config: networkConfig("mlp", { data: { batch_size: 0 } }) },
  { name: "a lookback of 0", says: /lookback/, config: networkConfig("mlp", { data: { lookback: 0 } }) },
  {
    name: "a device of its own",
    says: /device/,
    config: networkConfig("mlp", { global: { device: "gpu" } }),
  },
  { name: "a seed that is text", says: /seed/, config: networkConfig("mlp", { global: { seed: "x" } }) },
  {
    name: "an alpha of 0",
    says: /intervals\.alpha/,
    config: networkConfig("mlp", { intervals: { alpha: 0 } }),
  },
  {
    name: "intervals that are true",
    says: /intervals/,
    config: networkConfig("mlp", { intervals: true as never }),
  },
  { name: "status as text", says: /status/, config: networkConfig("mlp", { status: "off" as never }) },
  {
    name: "a network of more parameters than the limit",
    says: /50[,_. ]?000[,_. ]?000/,
    config: networkConfig("lstm", { models: { lstm: { hidden_dims: Array(16).fill(4096) } } }),
  },
  {
    name: "a width beyond the limit",
    says: /hidden_dims/,
    config: networkConfig("mlp", { models: { mlp: { hidden_dims: [1e9] } } }),
  },
  {
    name: "a CUDA device where there is none",
    code: "device_unavailable",
    exit: 3,
    says: /cuda:77/,
    config: networkConfig("mlp", { global: { device: "cuda:77" } }),
  },
];

describe("a job is refused, and makes nothing, with", { concurrency: 2 }, () => {
  for (const { name, code = "invalid_request", exit = 2, says, config } of REFUSALS) {
    test(`${code} (${exit}) for ${name}`, () => {
      // What can be known from the config alone is refused before an engine is looked for.
      const engine = exit === 2 && !name.includes("parameters") ? noEngine : openSharedEngine;
      return assertRefused(runDlJob, small, config, { code, exit, says }, engine);
    });
  }
});

/** One that needs no engine, and one that does. */
const OF_THE_COMMAND = [REFUSALS[0]!, REFUSALS.at(-1)!];

describe("a command that is refused leaves stdout empty, no file, and says", { concurrency: 2 }, () => {
  for (const { name, code = "invalid_request", exit = 2, says, config } of OF_THE_COMMAND) {
    test(`${code} (${exit}) for ${name}`, async () => {
      const blobUrl = join(await newFolder(), "blobs");
      const temporary = join(await newFolder(), "tmp");
      const args = dlArguments(small, config, "--log", "json", "--blob-url", blobUrl);
      const env = exit === 2 ? { MUCAST_PYTHON: "/nowhere/python" } : {};
      const ended = await mucast(args, { temporary, env });
      assert.deepEqual([ended.code, ended.stdout], [exit, ""], ended.stderr);
      const problem = jsonLines(ended.stderr).at(-1)!;
      assertValid("problem", problem);
      assert.equal(problem.code, code);
      assert.match(JSON.stringify(problem), says);
      assert.ok(!existsSync(blobUrl), "nothing is made where the output would go");
      assert.deepEqual(
        readdirSync(temporary).flatMap((base) => readdirSync(join(temporary, base))),
        [],
      );
    });
  }

  test("every fault of a config at once", async () => {
    const config = networkConfig("mlp", { training: { epochs: 0, patince: 3 }, data: { lookback: "x" } });
    const ended = await mucast(dlArguments(small, config, "--log", "json"));
    assert.equal(ended.code, 2);
    const problem = JSON.stringify(jsonLines(ended.stderr).at(-1));
    for (const place of [/training_params\.epochs/, /patience/, /data_processing\.lookback/]) {
      assert.match(problem, place);
    }
  });

  test("engine_unavailable (4) for an interpreter that is not there", async () => {
    const env = { MUCAST_PYTHON: "/nowhere/python" };
    const ended = await mucast(dlArguments(small, MLP, "--log", "json"), { env });
    assert.deepEqual([ended.code, ended.stdout], [4, ""]);
    assert.equal(jsonLines(ended.stderr).at(-1)!.code, "engine_unavailable");
  });
});

test("the help of mucast and of run_dl_job name the command and its flags", async () => {
  assert.match((await mucast(["--help"])).stdout, /run_dl_job/);
  const { stdout } = await mucast(["run_dl_job", "--help"]);
  for (const flag of ["--feature-url", "--data-extractor-url", "--config", "--blob-url", "--workers"]) {
    assert.ok(stdout.includes(flag), flag);
  }
});
