/**
 * Outputs replayed elsewhere: on a processor of another level, on which only `--portable` keeps the bytes, and with another version of a
 * library. An older processor is simulated by an interpreter that pins its libraries to the kernels that they would choose there, unless
 * the job has pinned them to others.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Operation } from "../../../src/contract/config/job-operations.ts";
import type { PayloadOptions } from "../../../src/contract/config/payload-schemas.ts";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import type { ReplayBlob } from "../../../src/contract/output/replay-blob.ts";
import type { ResultRecord } from "../../../src/contract/output/result-record.ts";
import { installedEnvironment, PYTHON_VARIABLE } from "../../../src/engine/environment/environment.ts";
import { runOperation } from "../../../src/executors/run-operation.ts";
import {
  type JobContext,
  type JobEngine,
  type OpenEngine,
  openEngine,
} from "../../../src/jobs/shared/job.ts";
import { replayOutput } from "../../../src/replay/replay.ts";
import { inputArguments, mucast } from "../commands/command.ts";
import { smallMarket } from "../markets/network-market.ts";
import { networkConfig } from "../networks/network-jobs.ts";
import { type BlobPair, newFolder, removeFolders, writeMarket } from "./job-runs.ts";
import { assertValid } from "./published-schemas.ts";

/** What the libraries choose on a processor without AVX. */
const OLDER = {
  OPENBLAS_CORETYPE: "Nehalem",
  NPY_DISABLE_CPU_FEATURES: "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
  ATEN_CPU_CAPABILITY: "default",
  ONEDNN_MAX_CPU_ISA: "SSE41",
  MKL_CBWR: "COMPATIBLE",
};

/** Enough that the last bits of sums on another processor reach `mu`. */
const MANY_STEPS = { batch_size: 16 };

let blobs: BlobPair;
before(async () => {
  blobs = await writeMarket(smallMarket());
});
after(async () => {
  await Promise.all([...kept.values()].map((engine) => engine.close()));
  delete process.env[PYTHON_VARIABLE];
  await removeFolders();
});

/** An interpreter that sets variables unless the engine has set them. */
async function pythonWith(python: string, variables: Readonly<Record<string, string>>): Promise<string> {
  const path = join(await newFolder(), "python");
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}="\${${name}:-${value}}"`);
  writeFileSync(path, ["#!/bin/sh", ...lines, `exec '${python}' "$@"`, ""].join("\n"));
  chmodSync(path, 0o755);
  return path;
}

interface Run {
  readonly path: string;
  readonly output: OutputBlob;
}

/** Runs a portable job through its command. */
async function portableByCommand(python: string, operation: Operation, config: string): Promise<Run> {
  const words = [operation, ...inputArguments(blobs, config), "--portable"];
  const { code, stdout, stderr } = await mucast(words, { env: { [PYTHON_VARIABLE]: python } });
  assert.equal(code, 0, stderr);
  return runOf(JSON.parse(stdout));
}

/** In this process, with an interpreter. */
async function run(
  python: string,
  operation: Operation,
  config: string,
  options: PayloadOptions = {},
): Promise<Run> {
  const request = { featureUrl: blobs.features, dataExtractorUrl: blobs.prices, config, id: randomUUID() };
  return runOf(await runOperation({ operation, options }, request, contextWith(python, 1)));
}

const portableHere = (python: string, operation: Operation, config: string) =>
  run(python, operation, config, { portable: true });

function runOf({ output_url }: ResultRecord): Run {
  const path = fileURLToPath(output_url);
  return { path, output: JSON.parse(readFileSync(path, "utf8")) };
}

/** In this process, with an interpreter. */
async function replay(python: string, { path }: Run, workers = 1): Promise<ReplayBlob> {
  const verdict = await replayOutput({ id: "r", outputUrl: path }, contextWith(python, workers));
  assertValid("replay-blob", verdict);
  return verdict;
}

function contextWith(python: string, workers: number): JobContext {
  process.env[PYTHON_VARIABLE] = python;
  const signal = new AbortController().signal;
  return { workers, policy: { allowed: [] }, report: () => undefined, signal, openEngine: openKeptEngine };
}

/** Keyed by everything that decides what an engine imports, and which kernels its libraries choose. */
const kept = new Map<string, JobEngine>();
let jobs = 0;

/** Two networks of one interpreter share an engine, because importing PyTorch takes most of their time. */
const openKeptEngine: OpenEngine = (need) => {
  const name = JSON.stringify([process.env[PYTHON_VARIABLE], need]);
  const engine = kept.get(name) ?? openEngine(need);
  kept.set(name, engine);
  const workFolder = join(engine.workFolder, `job${jobs++}`);
  mkdirSync(workFolder);
  return { pool: engine.pool, workFolder, close: async () => undefined };
};

const kernels = ({ machine }: OutputBlob) => Object.values(machine!.blas).map(({ kernel }) => kernel);

/** The old and the new value of each fact of the machine. */
const facts = ({ machine }: ReplayBlob) =>
  new Map(machine.map(({ name, recorded, replayed }) => [name, [recorded, replayed]]));

const onX86 = { skip: process.arch !== "x64" || process.platform !== "linux", timeout: 900_000 };

for (const [name, environment, portableRun, config, ...more] of [
  [
    "run_ml_job",
    "ml",
    portableByCommand,
    '{"ML params": {"model": "linear", "n_splits": 3, "intervals": {}}}',
  ],
  // MKL multiplies for the former, and oneDNN would for the latter.
  [
    "run_dl_job",
    "dl",
    portableHere,
    networkConfig("mlp", { intervals: {}, data: MANY_STEPS }),
    networkConfig("cnn"),
  ],
] as const) {
  test(
    `an output of ${name} replays on a processor of another level if it is portable, and else names the processor as the reason`,
    onX86,
    async () => {
      const { python } = installedEnvironment(environment)!;
      const [plain, portable, ...others] = await Promise.all([
        run(python, name, config),
        ...[config, ...more].map((pinned) => portableRun(python, name, pinned)),
      ]);
      assert.ok(portable);
      assert.equal(plain.output.provenance.kernel_level, null);
      assert.equal(portable.output.provenance.kernel_level, "x86-64-v3");
      assert.deepEqual(new Set(kernels(portable.output)), new Set(["Haswell"]));
      assert.deepEqual(portable.output.machine!.numpy_dispatch, ["X86_V3"]);

      const older = await pythonWith(python, OLDER);
      const [differs, ...identical] = await Promise.all([
        replay(older, plain),
        ...[portable, ...others].map((pinned) => replay(older, pinned, 2)),
      ]);
      for (const { verdict, machine, differences } of identical) {
        assert.equal(verdict, "identical", JSON.stringify(differences));
        assert.deepEqual(machine, [], "the pin stands above both");
      }

      assert.deepEqual([differs.verdict, differs.reason?.code], ["differs", "instruction_set"]);
      assert.deepEqual(differs.versions, []);
      const { numbers, others: texts, largest, members } = differs.differences!;
      assert.ok(numbers > 0 && texts === 0 && largest!.absolute! < 1e-3, JSON.stringify(differs.differences));
      const differing = members.map((member) => member.name);
      assert.ok(
        differing.includes("mu") && !differing.includes("provenance"),
        "nothing but the machine tells why",
      );
      const found = facts(differs);
      assert.deepEqual(found.get("machine.numpy_dispatch")![1], "");
      const blas = [...found].filter(([fact]) => /blas.*kernel/.test(fact));
      assert.deepEqual(new Set(blas.map(([, [, kernel]]) => kernel)), new Set(["Nehalem"]));
      assert.ok(!found.has("machine.processor"));
      if (environment === "dl") {
        assert.equal(found.get("machine.torch_capability")![1], "DEFAULT");
        assert.equal(portable.output.machine!.torch_capability, "AVX2");
      }
    },
  );
}

/** A fake: catboost that reports another version and predicts slightly more. */
const OTHER_CATBOOST = `
import sys
folder = __file__.rsplit("/", 2)[0]
sys.path.remove(folder)
del sys.modules["catboost"]
import catboost
sys.path.insert(0, folder)
own = catboost.CatBoostRegressor.predict
catboost.CatBoostRegressor.predict = lambda *given, **named: own(*given, **named) * (1 + 2**-40)
`;

test("a replay with another version of a library reports that, and by how much the output differs", async () => {
  const { python } = installedEnvironment("ml")!;
  const config = '{"ML params": {"model": "catboost", "n_splits": 2, "model_params": {"iterations": 2}}}';
  const folder = await newFolder();
  const [library, metadata] = [join(folder, "catboost"), join(folder, "catboost-1.2.9.dist-info")];
  for (const made of [library, metadata]) mkdirSync(made);
  writeFileSync(join(library, "__init__.py"), OTHER_CATBOOST);
  writeFileSync(join(metadata, "METADATA"), "Metadata-Version: 2.1\nName: catboost\nVersion: 1.2.9\n");
  const other = join(folder, "python");
  writeFileSync(other, `#!/bin/sh\nexport PYTHONPATH="${folder}:$PYTHONPATH"\nexec '${python}' "$@"\n`);
  chmodSync(other, 0o755);

  const made = await run(other, "run_ml_job", config);
  const { verdict, reason, versions, differences } = await replay(python, made);
  assert.deepEqual([verdict, reason?.code], ["differs", "versions"]);
  const { catboost } = made.output.provenance.versions;
  assert.equal(catboost, "1.2.9");
  assert.deepEqual(
    versions.map(({ name, recorded }) => [name, recorded]),
    [["catboost", "1.2.9"]],
  );
  assert.ok(differences!.numbers > 0);
  assert.ok(differences!.largest_relative!.relative! < 1e-9, JSON.stringify(differences));
});
