import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { DEFECTIVE } from "../../../test/defective.testing.ts";
import { removeFolders } from "../../../test/end-to-end/job-runs.ts";
import { JobChild } from "./job-child.ts";
import { Hearing, newPlace, orderOf, processesOf, RIDGE, TINY } from "./jobs.testing.ts";

const options = { timeout: 120_000, skip: process.platform !== "linux" && "looks into /proc" };
after(removeFolders);

/** Leaves a process that holds descriptor 3 and minds no parent's end. */
const LINGERER = `data:text/javascript,${encodeURIComponent(
  `import { isMainThread } from "node:worker_threads"; import { spawn } from "node:child_process";
   if (isMainThread) spawn("sleep", ["1000"], { stdio: ["ignore", "ignore", "ignore", 3], env: process.env });`,
)}`;

test(
  "what a job process leaves behind is ended with it, also where it holds its pipes",
  options,
  async () => {
    const { blobUrl, temporary } = await newPlace();
    const env = { PATH: process.env.PATH!, TMPDIR: temporary, NODE_OPTIONS: `--import ${LINGERER}` };
    const log = () => undefined;
    const memoryBytes = 2 ** 40;
    const child = new JobChild({ env, warm: false, log, blobUrl, policy: { allowed: [] }, memoryBytes });
    await child.ready;
    assert.equal(processesOf({ blobUrl, temporary }).length, 2);
    process.kill(child.pid!, "SIGKILL");
    assert.equal(await child.ended, "it was ended by SIGKILL");
    assert.deepEqual(processesOf({ blobUrl, temporary }), []);
  },
);

/** Writes what is no message into the descriptor of messages, and more at once than a message may have. */
const BABBLER = `data:text/javascript,${encodeURIComponent(
  `import { isMainThread } from "node:worker_threads"; import { writeSync } from "node:fs";
   const write = (text) => { for (let rest = Buffer.from(text); rest.length > 0; ) {
     try { rest = rest.subarray(writeSync(3, rest)); } catch (error) { if (error.code !== "EAGAIN") throw error; } } };
   if (isMainThread) { write("a library's print\\nnull\\n[]\\n"); write("x".repeat(2 ** 25 + 1) + "\\n"); }`,
)}`;

test("what is no message, or too long for one, is logged, and the process goes on", options, async (t) => {
  const { blobUrl, temporary } = await newPlace();
  const env = { PATH: process.env.PATH!, TMPDIR: temporary, NODE_OPTIONS: `--import ${BABBLER}` };
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const memoryBytes = 2 ** 40;
  const child = new JobChild({ env, warm: false, log, blobUrl, policy: { allowed: [] }, memoryBytes });
  t.after(() => child.kill());
  await child.ready;
  assert.deepEqual(lines, [
    "what it told is no message: a library's print",
    "what it told is no message: null",
    "what it told is no message: []",
    "it told more than 33554432 characters at once; they were dropped",
  ]);
  child.dismiss();
  assert.equal(await child.ended, "exit code 0");
});

test("of a defect a job process tells an id alone, and its log the rest", options, async (t) => {
  const { blobUrl, temporary } = await newPlace();
  const env = { PATH: process.env.PATH!, TMPDIR: temporary, NODE_OPTIONS: DEFECTIVE };
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const memoryBytes = 2 ** 40;
  const child = new JobChild({ env, warm: false, log, blobUrl, policy: { allowed: [] }, memoryBytes });
  t.after(() => child.kill());
  const { told } = await child.give(orderOf(TINY, RIDGE), new Hearing()).ended;
  assert.ok(told !== undefined && "problem" in told, JSON.stringify(told));
  const { code, id } = told.problem;
  assert.equal(code, "internal");
  assert.doesNotMatch(JSON.stringify(told), /secret|parse-config/);
  assert.equal(lines[0], `defect ${id}: TypeError: /srv/secret/x0.npy is undefined`);
  assert.match(lines.join("\n"), /parse-config/);
  await child.ended;
});

test("where no descriptor is left for its pipes, it has ended before it was", options, async () => {
  const script = `
    import { openSync } from "node:fs";
    const { JobChild } = await import(${JSON.stringify(fileURLToPath(new URL("./job-child.ts", import.meta.url)))});
    const places = { blobUrl: "blobs", policy: { allowed: [] } };
    try { for (;;) openSync("/dev/null"); } catch {}
    const child = new JobChild({ env: {}, warm: false, log: () => undefined, ...places });
    const run = child.give({ id: "op" }, { onEvent: () => undefined, onTimings: () => undefined });
    console.log(await run.accepted, await child.ended);`;
  const command = `ulimit -n 64; exec "$0" --input-type=module -e "$1"`;
  const tried = spawn("bash", ["-c", command, process.execPath, script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  for await (const text of tried.stdout) said += text;
  assert.match(said, /^false no process could be started: .*EMFILE/);
});
