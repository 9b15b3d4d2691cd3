import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  type Ended,
  jobArguments,
  mucast,
  processesIn,
  startMucast,
} from "../../test/end-to-end/commands/command.ts";
import { newFolder, removeFolders } from "../../test/end-to-end/jobs/job-runs.ts";

/** catboost, because its import is the shortest. */
const QUICK = '{"ML params": {"model": "catboost", "n_splits": 2, "model_params": {"iterations": 2}}}';

describe("mucast replay", { timeout: 900_000 }, () => {
  let folder: string;
  let output: string;
  before(async () => {
    folder = await newFolder();
    const data = join(folder, "data");
    mkdirSync(data);
    const names = ["feature_engine_tiny.json", "data_extractor_tiny.json"] as const;
    for (const name of names) copyFileSync(join("test/cases/tiny/data", name), join(data, name));
    const [features, prices] = names.map((name) => join(data, name)) as [string, string];
    const env = { OPERATION_ID: "1" };
    const { code, stderr } = await mucast(jobArguments({ folder, features, prices }, QUICK), { env });
    assert.equal(code, 0, stderr);
    output = join(data, "ml_engine_1.json");
  });
  after(removeFolders);

  /** In its own folder for temporary files, in which nothing may remain. */
  async function replayed(path: string): Promise<Ended & { readonly verdict: string }> {
    const temporary = join(folder, "tmp");
    const ended = await mucast(["replay", "--output", path, "--quiet"], { temporary });
    assert.deepEqual(readdirSync(temporary), []);
    return { ...ended, verdict: ended.stdout === "" ? "" : JSON.parse(ended.stdout).verdict };
  }

  test("ends with 0 if the output is identical, and prints a summary on stderr", async () => {
    const { code, verdict, stderr } = await replayed(output);
    assert.deepEqual([code, verdict], [0, "identical"]);
    assert.match(stderr, /^ml_engine_1\.json: identical\n {2}\d+ numbers compared, SHA-256 [0-9a-f]{64}\n$/);
  });

  test("ends with 6 if it differs", async () => {
    const other = join(folder, "data", "ml_engine_2.json");
    writeFileSync(other, readFileSync(output, "utf8").replace(/"mu":\{"ALFA":-?/, "$&1"));
    const { code, verdict, stderr } = await replayed(other);
    assert.deepEqual([code, verdict], [6, "differs"]);
    assert.match(stderr, /^largest +mu\.ALFA /m);
  });

  test("shows the part of two long texts in which they differ", async () => {
    const other = join(folder, "data", "ml_engine_4.json");
    const text = readFileSync(output, "utf8");
    writeFileSync(other, text.replace(/"sentence":"[^"]{60,}(?=")/, "$& And more."));
    assert.match((await replayed(other)).stderr, /^first +verdict\.sentence +….* And more\." +…/m);
  });

  test("ends with 7 if it cannot be replayed, and with an error's code if there is no output", async () => {
    const alone = join(await newFolder(), "ml_engine_1.json");
    copyFileSync(output, alone);
    const { code, verdict, stderr } = await replayed(alone);
    assert.deepEqual([code, verdict], [7, "cannot_replay"]);
    assert.match(stderr, /inputs_gone: .*\n.*--feature-url/);
    const gone = await replayed(`${alone}.gone`);
    assert.equal(gone.code, 3);
    assert.equal(gone.stdout, "");
    assert.ok(!existsSync(`${alone}.gone`));
  });

  test("leaves no file and no process if it is terminated while it fits: exit code 143", async () => {
    const long = join(folder, "data", "ml_engine_3.json");
    const config = JSON.stringify('{"model": "catboost", "model_params": {"iterations": 100000}}');
    const text = readFileSync(output, "utf8");
    writeFileSync(
      long,
      text.replace(/"config":"(?:[^"\\]|\\.)*"/, () => `"config":${config}`),
    );
    const temporary = await newFolder();
    const running = await startMucast(["replay", long, "--log", "json", "--workers", "2"], { temporary });
    await running.told(({ stage }) => stage === "fit");
    running.child.kill("SIGTERM");
    const { code, stdout, stderr } = await running.ended;
    assert.deepEqual([code, stdout], [143, ""], stderr);
    assert.deepEqual(await processesIn(temporary), []);
    assert.deepEqual(readdirSync(temporary), []);
  });
});
