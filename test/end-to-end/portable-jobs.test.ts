/**
 * `--portable`: the same bytes on processors of different levels. An older processor is simulated: an interpreter that
 * pins its libraries to the kernels which they would pick there, where the job has not pinned them to others.
 */
import assert from "node:assert/strict";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { OutputBlob } from "../../src/contract/output/output-blob.ts";
import { installedEnvironment, type JobEnvironment } from "../../src/engine/environment/environment.ts";
import { inputArguments, mucast } from "./command.ts";
import { type BlobPair, newFolder, removeFolders, withoutIdentity, writeMarket } from "./job-runs.ts";
import { networkConfig } from "./network-jobs.ts";
import { smallMarket, TICKERS } from "./network-market.ts";

/** What a processor without AVX has the libraries pick. */
const OLDER = {
  OPENBLAS_CORETYPE: "Nehalem",
  NPY_DISABLE_CPU_FEATURES: "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
  ATEN_CPU_CAPABILITY: "default",
  ONEDNN_MAX_CPU_ISA: "SSE41",
  MKL_CBWR: "COMPATIBLE",
};

let blobs: BlobPair;
before(async () => {
  blobs = await writeMarket(smallMarket());
});
after(removeFolders);

/** An interpreter on the simulated processor. */
async function olderPython(environment: JobEnvironment): Promise<string> {
  const { python } = installedEnvironment(environment)!;
  const path = join(await newFolder(), "python");
  const variables = Object.entries(OLDER).map(([name, value]) => `export ${name}="\${${name}:-${value}}"`);
  writeFileSync(path, ["#!/bin/sh", ...variables, `exec '${python}' "$@"`, ""].join("\n"));
  chmodSync(path, 0o755);
  return path;
}

interface Run {
  readonly text: string;
  readonly output: OutputBlob;
}

/** One job with the interpreter, portable and not. */
async function runsWith(python: string, name: string, config: string) {
  const job = [name, ...inputArguments(blobs, config)];
  const run = async (...more: string[]): Promise<Run> => {
    const { code, stdout, stderr } = await mucast([...job, ...more], { env: { MUCAST_PYTHON: python } });
    assert.equal(code, 0, stderr);
    const text = readFileSync(fileURLToPath(JSON.parse(stdout).output_url), "utf8");
    return { text, output: JSON.parse(text) };
  };
  const [plain, portable] = await Promise.all([run(), run("--portable")]);
  return { plain, portable };
}

/** What a replay compares. */
function compared({ text, output }: Run): string {
  const machine = JSON.stringify(output.machine);
  assert.ok(text.includes(`"machine":${machine},`));
  return withoutIdentity(text.replace(machine, "null"));
}

const kernels = ({ machine }: OutputBlob) => Object.values(machine!.blas).map(({ kernel }) => kernel);

const onX86 = { skip: process.arch !== "x64" || process.platform !== "linux" };

for (const [name, environment, config] of [
  ["run_ml_job", "ml", '{"ML params": {"model": "linear", "n_splits": 3, "intervals": {}}}'],
  ["run_dl_job", "dl", networkConfig("cnn", { intervals: {} })],
] as const) {
  test(
    `${name} leaves the same bytes on processors of two levels with --portable, and without it other digits`,
    onX86,
    async () => {
      const own = await runsWith(installedEnvironment(environment)!.python, name, config);
      const older = await runsWith(await olderPython(environment), name, config);

      assert.equal(compared(older.portable), compared(own.portable));
      assert.equal(own.portable.output.provenance.kernel_level, "x86-64-v3");
      assert.deepEqual(
        older.portable.output.machine,
        own.portable.output.machine,
        "the pin stands above both",
      );
      assert.deepEqual(new Set(kernels(own.portable.output)), new Set(["Haswell"]));
      assert.deepEqual(own.portable.output.machine!.numpy_dispatch, ["X86_V3"]);

      const [here, there] = [own.plain.output, older.plain.output];
      assert.notEqual(compared(older.plain), compared(own.plain));
      for (const ticker of TICKERS) assert.ok(Math.abs(here.mu[ticker]! - there.mu[ticker]!) < 1e-5, ticker);
      assert.deepEqual(there.provenance, here.provenance, "nothing but the machine tells why");
      assert.equal(here.provenance.kernel_level, null);
      assert.equal(there.machine!.processor, here.machine!.processor);
      assert.deepEqual(there.machine!.numpy_dispatch, []);
      assert.deepEqual(new Set(kernels(there)), new Set(["Nehalem"]));
      if (environment === "dl") {
        assert.equal(there.machine!.torch_capability, "DEFAULT");
        assert.equal(own.portable.output.machine!.torch_capability, "AVX2");
      }
    },
  );
}
