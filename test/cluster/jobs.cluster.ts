/** Whole jobs on a real cluster of two nodes leave the bytes of jobs on this machine, provenance among them. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { RecordingListener } from "../../src/executors/executor-suite.testing.ts";
import {
  ENDLESS,
  orderOf,
  outputsOf,
  RIDGE,
  TINY,
  withExecutor,
} from "../../src/executors/process/jobs.testing.ts";
import { runDlJob, runMlJob } from "../../src/jobs/run-job.ts";
import type { JobContext } from "../../src/jobs/shared/job.ts";
import { openEngine } from "../../src/jobs/shared/job.ts";
import { jobArguments, mucast, startMucast, until } from "../end-to-end/commands/command.ts";
import {
  type BlobPair,
  type Job,
  newFolder,
  removeFolders,
  runJob,
  withoutIdentity,
  writeMarket,
} from "../end-to-end/jobs/job-runs.ts";
import { cleanMarket, type Market } from "../end-to-end/markets/market.ts";
import {
  dirtyPanelMarket,
  lateListings,
  learningUntil,
  panelMarket,
} from "../end-to-end/markets/panel-market.ts";
import { networkConfig } from "../end-to-end/networks/network-jobs.ts";
import { PATIENT_HEALTH_CHECK, type RayCluster, startRayCluster } from "../servers/ray-cluster.testing.ts";

const RELATIVE = { target: "relative", cross_section: true };
const WRONG = "wrong-token-0123456789";

let cluster: RayCluster;
let blobs: BlobPair;
/** Of as many tickers as relative targets and z-scores need. */
let panels: BlobPair;
before(async () => {
  panels = await writeMarket(panelMarket());
  blobs = await writeMarket(cleanMarket());
  cluster = await startRayCluster({
    nodes: [{ name: "head" }, { name: "second", cpus: 2 }],
    env: PATIENT_HEALTH_CHECK,
  });
  process.env.RAY_AUTH_TOKEN_PATH = cluster.tokenFile;
});
after(async () => {
  delete process.env.RAY_AUTH_TOKEN_PATH;
  await cluster?.stop();
  await removeFolders();
});

/** The text of the output but for what names the run and its machine. */
async function textOf(job: Job, config: string, more: Partial<JobContext>, pair: BlobPair): Promise<string> {
  const run: Job = (request, context) => job(request, { ...context, ...more });
  const starts: unknown[] = [];
  const { text } = await runJob(pair, config, 2, run, (need) => {
    const engine = openEngine(need);
    void engine.pool.greeting.then(({ start }) => starts.push(start));
    return engine;
  });
  assert.deepEqual(starts.includes("cluster"), more.cluster !== undefined);
  const { machine, ...compared } = JSON.parse(withoutIdentity(text));
  assert.notEqual(machine, null);
  return JSON.stringify(compared);
}

/** Ray's processes with a task. */
async function tasksOnNodes(): Promise<string[]> {
  const found = await Promise.all(["head", "second"].map((name) => cluster.processes(name)));
  const commands = found.flat().map(({ command }) => command);
  return commands.filter((command) => /^ray::mucast/.test(command));
}

/** @returns the text of the output, which is the same on the cluster and on this machine. */
async function sameText(
  job: Job,
  config: string,
  more: Partial<JobContext>,
  pair: BlobPair,
): Promise<string> {
  const onCluster = { ...more, cluster: { url: cluster.address, insecure: false } };
  const text = await textOf(job, config, onCluster, pair);
  assert.equal(text, await textOf(job, config, more, pair));
  return text;
}

async function assertSame(
  job: Job,
  config: string,
  more: Partial<JobContext> = {},
  pair = blobs,
): Promise<void> {
  await sameText(job, config, more, pair);
}

/** Also asserts that the output has several blocks, and that no ticker failed because of the engine. */
async function assertSameRefits(job: Job, config: string, market: Market): Promise<void> {
  const { refits, failures } = JSON.parse(await sameText(job, config, {}, await writeMarket(market)));
  assert.ok(refits.blocks.length > 2);
  assert.doesNotMatch(JSON.stringify(failures), /engine_/);
}

/** The engine's own tests compare every model (engine/tests/cluster/test_gateway_bytes.py). */
describe("on a cluster of two nodes", { timeout: 3_600_000 }, () => {
  test("candidates whose fits are shared leave the bytes of this machine", () => {
    const candidates = [{ grid: { n_estimators: [3, 9] } }];
    const own = {
      model: "lightgbm",
      model_params: { n_estimators: 6, min_child_samples: 5 },
      n_splits: 3,
      refit_every: 20,
    };
    return assertSame(runMlJob, JSON.stringify({ "ML params": { ...own, choice: { candidates } } }));
  });

  test("pooled fits with importance of features, which reserve memory, leave the bytes of this machine", () => {
    const settings = { fit: "pooled", target: "relative", cross_section: true, intervals: {} };
    const params = { model: "lightgbm", n_splits: 3, cv_test_size: 10, importance: true, ...settings };
    return assertSame(runMlJob, JSON.stringify({ "ML params": params }), {}, panels);
  });

  test("refits with late tickers leave the bytes of this machine", async () => {
    const market = learningUntil("2021-05-15", lateListings(dirtyPanelMarket()));
    const params = { model: "ridge", scaler: "standard", n_splits: 3, cv_test_size: 10, refit_every: 9 };
    await assertSameRefits(runMlJob, JSON.stringify({ "ML params": { ...params, intervals: {} } }), market);
  });

  for (const [option, settings, training] of [
    ["mlp", {}, { ensemble: 2 }],
    ["portfolio_lstm", { ...RELATIVE, window: 60 }, {}],
  ] as const) {
    test(`refits of ${option} ${JSON.stringify(settings)} leave the bytes of this machine`, () => {
      const asked = JSON.parse(networkConfig(option, { training, intervals: {} }));
      Object.assign(asked["NN params"]["Dot prediction"], { refit_every: 9, ...settings });
      const market = learningUntil("2021-05-15", dirtyPanelMarket());
      return assertSameRefits(runDlJob, JSON.stringify(asked), market);
    });
  }

  test("a replay there of an output of this machine is identical, and the other way round, and shows no token", async () => {
    const config = '{"ML params": {"model": "lightgbm", "n_splits": 2}}';
    const there = ["--engine", cluster.address];
    for (const [job, replay] of [
      [[], there],
      [there, []],
    ] as const) {
      const done = await mucast([...jobArguments(blobs, config), ...job]);
      assert.equal(done.code, 0, done.stderr);
      const output = fileURLToPath(JSON.parse(done.stdout).output_url);
      const replayed = await mucast(["replay", "--output", output, ...replay]);
      assert.equal(replayed.code, 0, replayed.stderr);
      const written = [done, replayed].flatMap(({ stdout, stderr }) => [stdout, stderr]);
      const token = readFileSync(cluster.tokenFile, "utf8").trim();
      assert.ok(![...written, readFileSync(output, "utf8")].join("").includes(token));
      const { verdict, machine, versions } = JSON.parse(replayed.stdout);
      assert.deepEqual([verdict, machine, versions], ["identical", [], []]);
    }
  });

  test("a service's jobs go there", () =>
    withExecutor(
      async (executor, sandbox) => {
        const listener = new RecordingListener();
        const execution = await executor.start(orderOf(TINY, RIDGE), listener);
        const end = await execution.ended;
        assert.equal(end.kind, "succeeded", JSON.stringify(end));
        assert.equal(outputsOf(sandbox).length, 1);
      },
      {
        warm: true,
        env: { ...process.env, RAY_AUTH_TOKEN_PATH: cluster.tokenFile },
        cluster: { url: cluster.address, insecure: false },
      },
    ));

  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGKILL", null],
  ] as const) {
    test(`a command that gets ${signal} amid its fits leaves nothing of the job on any node`, async () => {
      const folder = await newFolder();
      const args = [...jobArguments(TINY, ENDLESS), "--blob-url", folder, "--engine", cluster.address];
      const { child, ended } = await startMucast(args);
      await until(async () => ((await tasksOnNodes()).length >= 2 ? true : undefined));
      child.kill(signal);
      assert.equal((await ended).code, code);
      await until(async () => ((await tasksOnNodes()).length === 0 ? true : undefined));
      assert.deepEqual(readdirSync(folder), []);
    });
  }

  test("doctor fits on every node, and says what is wrong with a token", async () => {
    const args = ["doctor", "--engine", cluster.address];
    const good = await mucast(args, { env: { RAY_AUTH_TOKEN_PATH: cluster.tokenFile } });
    assert.equal(good.code, 0, good.stdout);
    const [, told] = good.stdout.split(`cluster ${cluster.address}: ready\n`);
    assert.equal(
      told?.match(/^node {4}.*: cores [12], GPUs 0, .* GiB, test fit [\d.]+ s$/gm)?.length,
      2,
      good.stdout,
    );
    for (const words of [
      /^ray {5}2\./m,
      /3 tasks of one thread/,
      /round trip of a fit/,
      /scikit-learn \d/,
      /torch \d/,
    ])
      assert.match(told!, words);
    const bad = await mucast(args, { env: { RAY_AUTH_TOKEN_PATH: "", RAY_AUTH_TOKEN: WRONG } });
    assert.equal(bad.code, 4);
    assert.match(bad.stdout, /: not ready\n.* refuses the token/);
    assert.doesNotMatch(bad.stdout + bad.stderr, new RegExp(WRONG));
  });

  test("a portable job leaves the bytes of this machine, pinned", () =>
    assertSame(runMlJob, '{"ML params": {"model": "ridge"}}', { portable: true }));
});
