import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { DEFECTIVE } from "../../../test/defective.testing.ts";
import { removeFolders } from "../../../test/end-to-end/jobs/job-runs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import type { JobOrder } from "../executor.ts";
import { RecordingListener } from "../executor-suite.testing.ts";
import { JobChild } from "./job-child.ts";
import { newSandbox, orderOf, processesOf, QUICK, TINY } from "./jobs.testing.ts";

const options = { timeout: 600_000, skip: process.platform !== "linux" && "looks into /proc" };
after(removeFolders);

/** Leaves a process behind that holds descriptor 3 and outlives its parent. */
const LINGERER = `data:text/javascript,${encodeURIComponent(
  `import { isMainThread } from "node:worker_threads"; import { spawn } from "node:child_process";
   if (isMainThread) spawn("sleep", ["1000"], { stdio: ["ignore", "ignore", "ignore", 3], env: process.env });`,
)}`;

test("kills what a job process leaves behind, even if that holds its pipes", options, async () => {
  const { blobUrl, temporary } = await newSandbox();
  const env = { PATH: process.env.PATH!, TMPDIR: temporary, NODE_OPTIONS: `--import ${LINGERER}` };
  const log = () => undefined;
  const memoryBytes = 2 ** 40;
  const child = new JobChild({ env, warm: false, log, blobUrl, policy: { allowed: [] }, memoryBytes });
  await child.ready;
  assert.equal(processesOf({ blobUrl, temporary }).length, 2);
  process.kill(child.pid!, "SIGKILL");
  assert.equal(await child.ended, "it was ended by SIGKILL");
  assert.deepEqual(processesOf({ blobUrl, temporary }), []);
});

/** Writes text that is no message to the message descriptor, and more at once than a message may have. */
const BABBLER = `data:text/javascript,${encodeURIComponent(
  `import { isMainThread } from "node:worker_threads"; import { writeSync } from "node:fs";
   const write = (text) => { for (let rest = Buffer.from(text); rest.length > 0; ) {
     try { rest = rest.subarray(writeSync(3, rest)); } catch (error) { if (error.code !== "EAGAIN") throw error; } } };
   if (isMainThread) { write("a library's print\\nnull\\n[]\\n"); write("x".repeat(2 ** 25 + 1) + "\\n"); }`,
)}`;

test("logs text that is no message or too long for one, and continues", options, async (t) => {
  const { blobUrl, temporary } = await newSandbox();
  const env = { PATH: process.env.PATH!, TMPDIR: temporary, NODE_OPTIONS: `--import ${BABBLER}` };
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const memoryBytes = 2 ** 40;
  const child = new JobChild({ env, warm: false, log, blobUrl, policy: { allowed: [] }, memoryBytes });
  t.after(() => child.kill());
  await child.ready;
  assert.deepEqual(lines, [
    "it wrote something that is not a message: a library's print",
    "it wrote something that is not a message: null",
    "it wrote something that is not a message: []",
    "it wrote more than 33554432 characters at once; they were dropped",
  ]);
  child.stop();
  assert.equal(await child.ended, "exit code 0");
});

test(
  "a defect in a job process is reported by its id alone, with the details in the log",
  options,
  async (t) => {
    const { blobUrl, temporary } = await newSandbox();
    const env = { PATH: process.env.PATH!, TMPDIR: temporary, NODE_OPTIONS: DEFECTIVE };
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    const memoryBytes = 2 ** 40;
    const child = new JobChild({ env, warm: false, log, blobUrl, policy: { allowed: [] }, memoryBytes });
    t.after(() => child.kill());
    const { end: told } = await child.give(orderOf(TINY, QUICK), new RecordingListener()).ended;
    assert.ok(told !== undefined && "problem" in told, JSON.stringify(told));
    const { code, id } = told.problem;
    assert.equal(code, "internal");
    assert.doesNotMatch(JSON.stringify(told), /secret|parse-config/);
    assert.equal(lines[0], `defect ${id}: TypeError: /srv/secret/x0.npy is undefined`);
    assert.match(lines.join("\n"), /parse-config/);
    await child.ended;
  },
);

/** Writes the lines of TOLD to descriptor 3 in the sandbox of a job process, and then exits. */
const TELLER = `data:text/javascript,${encodeURIComponent(
  `import { writeSync } from "node:fs";
   for (const line of JSON.parse(process.env.TOLD)) writeSync(3, line + "\\n");
   process.exit(7);`,
)}`;

/** The outcome of an order whose process writes these lines. */
async function told(...lines: readonly unknown[]) {
  const { blobUrl, temporary } = await newSandbox();
  const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  const env = {
    PATH: process.env.PATH!,
    TMPDIR: temporary,
    NODE_OPTIONS: `--import ${TELLER}`,
    TOLD: JSON.stringify(texts),
  };
  const [logged, batches]: [string[], unknown[]] = [[], []];
  const log = (line: string) => void logged.push(line);
  const child = new JobChild({
    env,
    warm: false,
    log,
    blobUrl,
    policy: { allowed: [] },
    memoryBytes: 2 ** 40,
  });
  const listener = {
    onEvents: (batch: unknown) => void batches.push(batch),
    onTimings: (timings: unknown) => void batches.push(timings),
  };
  const run = child.give({ id: "op" } as JobOrder, listener);
  const [end, accepted] = [await run.ended, await run.accepted];
  return { end, accepted, batches, logged };
}

test("logs and ignores a line that is no message or only half of one", options, async () => {
  const odd = [
    ...["", "null", "[]", "3", "{", '{"event":', "\u0000", '{"event":{"toString":1}}', '{"event":"unknown"}'],
    ...[undefined, null, { progress: {} }, { warnings: [{}] }, { epochs: 3 }].map((batch) => ({
      event: "events",
      batch,
    })),
    { event: "events", batch: { counts: { warnings: null, failures: [] } } },
    ...[
      { event: "log" },
      { event: "log", line: 7 },
      { event: "timings" },
      { event: "timings", timings: [null] },
    ],
    ...[{ event: "end" }, { event: "end", end: {} }, { event: "end", end: { record: {} } }],
    { event: "end", end: { problem: "no" } },
  ];
  const batch = { progress: { stage: "fit", done: 1, total: 2 } };
  const problem = problemOf(new MucastError("invalid_data", "no rows"));
  const end = { event: "end", end: { problem } };
  const heard = await told({ event: "accepted" }, ...odd, { event: "events", batch }, ...odd, end);
  assert.deepEqual(heard.batches, [batch]);
  assert.deepEqual(heard.end, { end: { problem }, reason: "exit code 7" });
  assert.equal(
    heard.logged.filter((line) => line.startsWith("it wrote something that is not a message")).length,
    2 * odd.length,
  );
});

test("a job whose last message is unreadable fails once its process waits again", options, async () => {
  const ready = { event: "ready" };
  const { end } = await told(ready, { event: "accepted" }, 'printed{"event":"end"}', ready);
  assert.equal(end.end && "problem" in end.end && end.end.problem.code, "internal");
});

test("a job that was taken before its process was ready fails the same way", options, async () => {
  const { end } = await told({ event: "accepted" }, 'printed{"event":"end"}', { event: "ready" });
  assert.equal(end.end && "problem" in end.end && end.end.problem.code, "internal");
});

test(
  "the last message of a job counts even if the message of its start was unreadable",
  options,
  async () => {
    const problem = problemOf(new MucastError("invalid_data", "no rows"));
    const { accepted, end } = await told('printed{"event":"accepted"}', { event: "end", end: { problem } });
    assert.equal(accepted, true);
    assert.deepEqual(end.end, { problem });
  },
);

test("a process without free descriptors for its pipes is reported as ended", options, async () => {
  const script = `
    import { openSync } from "node:fs";
    const { JobChild } = await import(${JSON.stringify(fileURLToPath(new URL("./job-child.ts", import.meta.url)))});
    const places = { blobUrl: "blobs", policy: { allowed: [] } };
    try { for (;;) openSync("/dev/null"); } catch {}
    const child = new JobChild({ env: {}, warm: false, log: () => undefined, ...places });
    const run = child.give({ id: "op" }, { onEvents: () => undefined, onTimings: () => undefined });
    console.log(await run.accepted, await child.ended);`;
  const command = `ulimit -n 64; exec "$0" --input-type=module -e "$1"`;
  const tried = spawn("bash", ["-c", command, process.execPath, script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  for await (const text of tried.stdout) said += text;
  assert.match(said, /^false no process could be started: .*EMFILE/);
});
