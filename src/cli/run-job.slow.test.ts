import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { DEFECTIVE } from "../../test/defective.testing.ts";
import {
  type CommandOptions,
  jobArguments,
  jsonLines,
  mucast,
  startMucast,
} from "../../test/end-to-end/commands/command.ts";
import { type BlobPair, newFolder, removeFolders, writeMarket } from "../../test/end-to-end/jobs/job-runs.ts";
import { cleanMarket } from "../../test/end-to-end/markets/market.ts";
import { FakeGateway } from "../../test/engine/fake-gateway.ts";
import { FolderStore } from "../blob/folder/folder-store.ts";
import { readStatus } from "../executors/status-blobs.ts";

/** catboost, because its import is the shortest. */
const QUICK = '{"ML params": {"model": "catboost", "n_splits": 2, "model_params": {"iterations": 2}}}';
const tiny = "test/cases/tiny/data";
const pair: BlobPair = {
  folder: "test/cases/tiny",
  features: `${tiny}/feature_engine_tiny.json`,
  prices: `${tiny}/data_extractor_tiny.json`,
};

after(removeFolders);

const asked: CommandOptions = { env: { OPERATION_ID: "op", MUCAST_STATUS_ATTEMPT: "2" } };

async function newPlace() {
  const blobUrl = await newFolder();
  return { blobUrl, read: () => readStatus(new FolderStore(blobUrl, "file:"), "op", 2) };
}

test("a job on a cluster starts its gateway with the token only in its environment, and ends with the gateway's error", {
  timeout: 600_000,
}, async (t) => {
  const folder = await newFolder();
  const fake = new FakeGateway(folder);
  t.after(() => fake.close());
  const token = "0123456789abcdef";
  const env = { MUCAST_PYTHON: fake.python, RAY_AUTH_TOKEN: token };
  const args = jobArguments(pair, QUICK, "--blob-url", folder, "--log", "json");
  const { ended } = await startMucast([...args, "--engine", "ray://127.0.0.1:10001"], { env });
  const gateway = await fake.started();
  assert.ok(gateway.args.join(" ").includes("mucast_engine cluster"));
  assert.ok(gateway.args.join(" ").endsWith("--engine ray://127.0.0.1:10001"));
  assert.doesNotMatch(gateway.args.join(" "), /insecure/);
  assert.equal(gateway.env.RAY_AUTH_TOKEN, token);
  gateway.greet();
  gateway.say({ event: "slots", slots: 1, added: [], lost: [{ name: "n2", reason: `${token} was lost` }] });
  await gateway.started();
  gateway.say({ event: "failed", code: "engine_unavailable", message: `no node takes ${token}`, data: {} });
  const { code, stdout, stderr } = await ended;
  assert.deepEqual([code, stdout], [4, ""]);
  assert.doesNotMatch(stderr, new RegExp(token));
  const lines = jsonLines(stderr);
  assert.ok(
    lines.some(
      ({ engine }) => engine === "the cluster runs 1 task at a time now: lost n2 (<token> was lost)",
    ),
  );
  const { code: problem, detail } = lines.at(-1)!;
  assert.deepEqual([problem, detail], ["engine_unavailable", "ray://127.0.0.1:10001: no node takes <token>"]);
});

describe("a job whose service reads its status", { concurrency: 2, timeout: 600_000 }, () => {
  test("leaves its record and its timings beside its output", async () => {
    const { blobUrl, read } = await newPlace();
    const { code, stdout, stderr } = await mucast(jobArguments(pair, QUICK, "--blob-url", blobUrl), asked);
    assert.equal(code, 0, stderr);
    const status = (await read())!;
    assert.deepEqual(status.end, { record: JSON.parse(stdout) });
    const names = new Set(status.timings.map(({ name }) => name));
    for (const name of ["read prices", "read features", "engine", "trial fit", "fit", "evaluate", "write"]) {
      assert.ok(names.has(name), name);
    }
    assert.ok(status.timings.every(({ start, end }) => start <= end));
  });

  test("leaves its problem if it fails", async () => {
    const { blobUrl, read } = await newPlace();
    const config = '{"ML params": {"model": "catboost", "model_params": {"depth": 99}}}';
    const args = jobArguments(pair, config, "--blob-url", blobUrl, "--log", "json");
    const { code, stderr } = await mucast(args, asked);
    assert.equal(code, 2, stderr);
    const { level: _, time: __, ...problem } = jsonLines(stderr).at(-1)!;
    assert.deepEqual((await read())?.end, { problem });
  });

  test("leaves only an id for a defect, and logs the details under that id", async () => {
    const { blobUrl, read } = await newPlace();
    const args = jobArguments(pair, QUICK, "--blob-url", blobUrl);
    const { code, stderr } = await mucast(args, {
      env: { ...asked.env, NODE_OPTIONS: DEFECTIVE },
    });
    assert.equal(code, 1, stderr);
    const end = (await read())?.end;
    assert.ok(end && "problem" in end);
    assert.equal(end.problem.code, "internal");
    assert.doesNotMatch(JSON.stringify(end), /secret|parse-config/);
    assert.ok(
      stderr.includes(`defect ${end.problem.id}: TypeError: /srv/secret/x0.npy is undefined`),
      stderr,
    );
  });

  test("leaves no end if a signal stopped it", async () => {
    const { blobUrl, read } = await newPlace();
    const slow = '{"ML params": {"model": "catboost", "model_params": {"iterations": 100000}}}';
    const market = await writeMarket(cleanMarket());
    const args = jobArguments(market, slow, "--blob-url", blobUrl, "--log", "json");
    const job = await startMucast(args, asked);
    await job.told(({ stage }) => stage === "fit");
    job.child.kill("SIGTERM");
    assert.equal((await job.ended).code, 143);
    assert.equal((await read())?.end ?? null, null);
  });

  test("with --report writes the page beside its output; a page that cannot be written costs no output", async () => {
    const { blobUrl } = await newPlace();
    const args = jobArguments(pair, QUICK, "--blob-url", blobUrl, "--report");
    const page = join(blobUrl, "data/ml_engine_op.html");
    const drawn = await mucast(args, asked);
    assert.equal(drawn.code, 0, drawn.stderr);
    const record = JSON.parse(drawn.stdout);
    assert.deepEqual(Object.keys(record).sort(), ["execution_name", "output_name", "output_url", "status"]);
    assert.ok(drawn.stderr.endsWith(`report: ${page}\n`), drawn.stderr);
    assert.match(readFileSync(page, "utf8"), /^<!doctype html>/i);
    mkdirSync(join(blobUrl, "data/ml_engine_op2.html"));
    const log = ["--log", "json"];
    const none = await mucast([...args, ...log], { env: { OPERATION_ID: "op2" } });
    assert.equal(none.code, 0, none.stderr);
    assert.equal(JSON.parse(none.stdout).output_name, "ml_engine_op2.json");
    assert.ok(existsSync(join(blobUrl, "data/ml_engine_op2.json")));
    const { level, code, message } = jsonLines(none.stderr).at(-1)!;
    assert.deepEqual([level, code], ["warning", "output_failed"]);
    assert.match(String(message), /^the output was written, but its report was not: .*ml_engine_op2\.html/);
  });

  test("is refused with --report if its output goes to a container, before anything is read", async () => {
    const container = "https://a.blob.core.windows.net/c?sv=1&sig=SECRET";
    const args = jobArguments(pair, QUICK, "--blob-url", container, "--report");
    const { code, stdout, stderr } = await mucast(args);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /--report needs an output in a folder, .*mucast report --output URL/);
    assert.doesNotMatch(stderr, /SECRET|reading/);
  });
});
