import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { DEFECTIVE } from "../../../test/defective.testing.ts";
import { removeFolders } from "../../../test/end-to-end/jobs/job-runs.ts";
import { RecordingListener } from "../executor-suite.testing.ts";
import { JobChild } from "./job-child.ts";
import { newSandbox, orderOf, processesOf, QUICK, TINY, until } from "./jobs.testing.ts";

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
  await until(() => (processesOf({ blobUrl, temporary }).length === 2 ? true : undefined));
  process.kill(child.pid!, "SIGKILL");
  assert.deepEqual(await child.gone, { reason: "it was ended by SIGKILL", waited: true });
  assert.deepEqual(processesOf({ blobUrl, temporary }), []);
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
    t.after(() => child.stop());
    const told = await child.start(orderOf(TINY, QUICK), new RecordingListener()).ended;
    assert.ok(told.kind === "failed", JSON.stringify(told));
    const { code, id } = told.problem;
    assert.equal(code, "internal");
    assert.doesNotMatch(JSON.stringify(told), /secret|parse-config/);
    assert.equal(lines[0], `defect ${id}: TypeError: /srv/secret/x0.npy is undefined`);
    assert.match(lines.join("\n"), /parse-config/);
    await child.gone;
  },
);

test("a process without free descriptors for its pipes is reported as ended", options, async () => {
  const script = `
    import { openSync } from "node:fs";
    const { JobChild } = await import(${JSON.stringify(fileURLToPath(new URL("./job-child.ts", import.meta.url)))});
    const places = { blobUrl: "blobs", policy: { allowed: [] } };
    try { for (;;) openSync("/dev/null"); } catch {}
    const child = new JobChild({ env: {}, warm: false, log: () => undefined, ...places });
    console.log(child.pid, child.waits, (await child.gone).reason);`;
  const command = `ulimit -n 64; exec "$0" --input-type=module -e "$1"`;
  const tried = spawn("bash", ["-c", command, process.execPath, script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  for await (const text of tried.stdout) said += text;
  assert.match(said, /^undefined false no process could be started: .*EMFILE/);
});
