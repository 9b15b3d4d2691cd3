/** The npm package, installed as by any user, on the oldest supported Node and on the Node of development. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { OutputBlob } from "../src/contract/output/output-blob.ts";
import { resultRecordSchema } from "../src/contract/output/result-record.ts";
import { headCommit } from "../src/contract/version.ts";
import { findEnvironment, mayHaveNvidiaDevice } from "../src/engine/environment/environment.ts";
import { installInto, packInto, run, type Versions, versionsIn } from "./installed-package.testing.ts";

/** catboost, because its import is the shortest. */
const CONFIG = `{"ML params": {"model": "catboost", "n_splits": 2, "intervals": {"alpha": 0.2},
  "model_params": {"iterations": 2}}}`;

let folder: string;
let mucast: string;
let resolved: Versions;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "mucast-package-"));
  const { archive, files } = packInto(folder);
  assert.deepEqual(
    files.filter(({ path }) => /\.test(ing)?\.|__pycache__|\.npmrc|(^|\/)tests?\//.test(path)),
    [],
    "the package carries no tests and no leftovers",
  );
  resolved = await installInto(folder, archive);
  mucast = join(folder, "node_modules/mucast/bin/mucast.cjs");
  cpSync("test/cases/tiny", join(folder, "tiny"), { recursive: true });
});

after(() => rmSync(folder, { recursive: true, force: true }));

test("npm resolves the versions of the lock, indirect dependencies included, for a user of the package", () => {
  assert.deepEqual(resolved, versionsIn("package-lock.json"));
  assert.ok(!existsSync("npm-shrinkwrap.json"), "npm in the checkout goes by package-lock.json");
});

test("the installed package brings the client", () => {
  const used =
    'import { MucastClient } from "mucast/client"; console.log(new MucastClient({ baseUrl: "http://h" }).events.name)';
  assert.equal(run(process.execPath, ["--input-type=module", "-e", used], folder).stdout, "events\n");
});

test(`the installed package brings the modules of the console`, () => {
  const used =
    'import { readConsoleFiles } from "./node_modules/mucast/dist/service/http/page-routes.js"; console.log([...readConsoleFiles().files.keys()].filter((path) => /main|client.js|css/.test(path)).sort().join())';
  const { stdout } = run(process.execPath, ["--input-type=module", "-e", used], folder);
  assert.equal(
    stdout,
    "charts.css,client/client.js,console-forms.css,console-run.css,console.css,console/main.js\n",
  );
});

test(`the installed package names its version and its commit`, () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const commit = readFileSync(join(folder, "node_modules/mucast/dist/commit"), "utf8").trim();
  assert.equal(commit.slice(0, 40), headCommit("."));
  const shown = commit.replace(/^(.{7})[0-9a-f]*/, "$1");
  assert.equal(mucastOn(process.execPath, ["--version"]).stdout, `mucast ${version} (${shown})\n`);
});

test(`the installed package prints the schemas that the repository publishes`, () => {
  const { stdout } = mucastOn(process.execPath, ["schema", "output-blob"]);
  assert.equal(stdout, readFileSync("schemas/output-blob.json", "utf8"));
});

test("the installed package runs a job outside the repository", () => {
  const node = process.execPath;
  const { stdout } = mucastOn(node, ["run_ml_job", ...tinyJob()], {
    MUCAST_PYTHON: findEnvironment("ml").python,
  });
  const record = resultRecordSchema.parse(JSON.parse(stdout));
  const output = JSON.parse(readFileSync(fileURLToPath(record.output_url), "utf8"));
  assert.equal(
    output.provenance.versions.node,
    run(node, ["-p", "process.versions.node"], folder).stdout.trim(),
  );
  assert.ok(Object.keys(output.mu).length > 0);
});

test("without an environment, it names `mucast setup` and downloads nothing", () => {
  const cache = join(folder, "empty-cache");
  const done = mucastOn(process.execPath, ["run_ml_job", ...tinyJob()], { XDG_CACHE_HOME: cache }, 4);
  assert.match(done.stderr, /engine_unavailable/);
  assert.match(done.stderr, /mucast setup/);
  assert.equal(done.stdout, "");
  assert.ok(!existsSync(cache));
});

test("without an environment for networks, it names `mucast setup --dl`", () => {
  const config = '{"NN params": {"Dot prediction": {"current option": "mlp"}}}';
  const words = ["run_dl_job", ...tinyJob().slice(0, -1), config];
  const done = mucastOn(process.execPath, words, { XDG_CACHE_HOME: join(folder, "empty-cache") }, 4);
  assert.match(done.stderr, /engine_unavailable/);
  assert.match(done.stderr, /`mucast setup --dl` makes it/);
});

test("set-up names the smaller environment of networks if there is no GPU, and what keeps it from installing any", () => {
  const env = { XDG_CACHE_HOME: join(folder, "empty-cache"), PATH: "/nowhere" };
  const { stderr } = mucastOn(process.execPath, ["setup", "--dl"], env, 4);
  assert.equal(
    stderr.includes("no NVIDIA GPU here; `mucast setup --dl --cpu` takes"),
    !mayHaveNvidiaDevice(),
  );
  assert.match(stderr, /there is no python3 on the path/);
});

test("set-up removes environments of other versions, in a package without the locks of development", () => {
  const cache = join(folder, "old-cache");
  const old = join(cache, "mucast/env/dl-0123456789abcdef");
  mkdirSync(old, { recursive: true });
  const env = { XDG_CACHE_HOME: cache, MUCAST_PYTHON: "/opt/python" };
  const { stderr } = mucastOn(process.execPath, ["setup", "--prune"], env);
  assert.match(stderr, /^setup: removed dl-0123456789abcdef, which freed 0 MB\n/);
  assert.ok(!existsSync(old));
});

test("without the optional packages, a container of Azure is refused with the command that installs them", () => {
  const places = ["node_modules/@azure", "node_modules/mucast/node_modules/@azure"];
  const azure = places.map((place) => join(folder, place)).find((path) => existsSync(path))!;
  const aside = join(folder, "azure");
  renameSync(azure, aside);
  try {
    const words = [
      "run_ml_job",
      ...tinyJob(),
      "--blob-url",
      "https://account.blob.core.windows.net/container",
    ];
    const { stderr } = mucastOn(process.execPath, words, {}, 2);
    assert.match(
      stderr,
      /needs the package @azure\/storage-blob.* npm install --omit=optional @azure\/\S+@\d/,
    );
    const { stdout } = mucastOn(process.execPath, ["run_ml_job", ...tinyJob()], {
      MUCAST_PYTHON: findEnvironment("ml").python,
    });
    assert.match(stdout, /"output_url"/);
  } finally {
    renameSync(aside, azure);
  }
});

test("the installed package brings the client's types", () => {
  writeFileSync(join(folder, "use.mts"), CLIENT_TYPES);
  const compiler = resolve("node_modules/typescript/bin/tsc");
  const options = [
    "--noEmit",
    "--strict",
    "--checkers",
    "1",
    "--types",
    "",
    "--lib",
    "es2022,dom,dom.asynciterable",
  ];
  const module = ["--target", "es2022", "--module", "nodenext"];
  run(process.execPath, [compiler, ...options, ...module, join(folder, "use.mts")], folder);
});

test("the installed package runs a job in a separate process, as it does when it serves", () => {
  const env = { ...process.env, MUCAST_PYTHON: findEnvironment("ml").python };
  const { stdout } = run(process.execPath, ["--input-type=module", "-e", JOB_PROCESS], folder, env);
  assert.equal(JSON.parse(stdout).kind, "succeeded", stdout);
});

test("the installed package serves on the Node of development, and its curl lines run a job", {
  timeout: 600_000,
}, async () => {
  const env = { ...process.env, MUCAST_PYTHON: findEnvironment("ml").python };
  const dataDir = join(folder, "served");
  const words = [mucast, "serve", "--port", "0", "--data-dir", dataDir];
  const service = spawn(process.execPath, words, { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(service, "exit");
  try {
    let said = "";
    for await (const piece of service.stdout) {
      said += piece;
      if (/^ {2}MCP /m.test(said)) break;
    }
    const lines = /^ {2}curl [\s\S]*?\n\n/m.exec(said)?.[0] ?? assert.fail(said);
    const { stdout } = run("sh", ["-c", lines], folder);
    const url = /"status":"Succeeded","output_url":"([^"]+)"/.exec(stdout)?.[1] ?? assert.fail(stdout);
    const { provenance, mu } = (await (await fetch(url)).json()) as OutputBlob;
    assert.equal(provenance.versions.node, process.versions.node);
    assert.ok(Object.keys(mu).length > 0);
    const { origin, pathname } = new URL(url);
    const id = /^\/data\/ml_engine_(.*)\.json$/.exec(pathname)![1];
    const report = await fetch(`${origin}/v1/operations/${id}/report`);
    assert.match(await report.text(), /^<!doctype html>/);
    const prepared = await fetch(`${origin}/v1/prepare`, { method: "POST", body: "Date,A\n2020-01-01,1\n" });
    assert.equal(prepared.status, 200, await prepared.text());
  } finally {
    service.kill();
    await ended;
  }
});

/** How `mucast serve` runs a job. */
const JOB_PROCESS = `
  import { ProcessExecutor } from "./node_modules/mucast/dist/executors/process/process-executor.js";
  const options = { blobUrl: "blobs-" + process.version, policy: { allowed: [] }, warm: false, log: console.error };
  const executor = new ProcessExecutor(options);
  const order = {
    id: "package",
    attempt: 1,
    operation: "run_ml_job",
    featureUrl: "tiny/data/feature_engine_tiny.json",
    dataExtractorUrl: "tiny/data/data_extractor_tiny.json",
    config: ${JSON.stringify(CONFIG)},
    workers: 1,
  };
  const listener = { onEvents() {}, onTimings() {} };
  console.log(JSON.stringify(await (await executor.start(order, listener)).ended));
  await executor.close();`;

const CLIENT_TYPES = `
  import { MucastApiError, MucastClient, type OutputBlob, readOutput } from "mucast/client";
  const client = new MucastClient({ baseUrl: "http://127.0.0.1:8080", apiKey: "k" });
  const payload = { feature_url: "f", data_extractor_url: "d", config: {} };
  const operation = await client.runAndWait("run_ml_job", payload);
  const known: "Succeeded" = operation.status;
  const url: string = operation.result.output_url;
  const read: OutputBlob = readOutput(await client.output(operation));
  const mu: number | undefined = read.mu.AAPL;
  // @ts-expect-error: there is no such job
  client.runAndWait("run_job", payload);
  for await (const event of client.events("one")) if (event.type === "progress") event.data.done.toFixed();
  export const codes = (error: unknown) =>
    error instanceof MucastApiError ? error.problem.faults?.map(({ path }) => path) : [known, url, mu];
`;

function tinyJob(): string[] {
  return [
    ...["--feature-url", "tiny/data/feature_engine_tiny.json"],
    ...["--data-extractor-url", "tiny/data/data_extractor_tiny.json"],
    ...["--config", CONFIG],
  ];
}

function mucastOn(node: string, args: readonly string[], extra: NodeJS.ProcessEnv = {}, status = 0) {
  const { MUCAST_PYTHON: _, ...env } = process.env;
  return run(node, [mucast, ...args], folder, { ...env, ...extra }, status);
}
