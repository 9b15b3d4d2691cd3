import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type FileRun, runTestFile, runTestFiles } from "./test-files.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-files-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(name: string, text: string): string {
  const file = join(folder, `${name}.test.mjs`);
  writeFileSync(file, `import { test } from "node:test";\n${text}\n`);
  return file;
}

const never = new AbortController().signal;

test("a run names the files that failed, with their output", async () => {
  const good = fileOf("good", 'test("holds", () => undefined);');
  const bad = fileOf("bad", 'test("does not hold", () => { throw new Error("seven is not eight"); });');
  const runs = new Map<string, FileRun>();
  await runTestFiles([[good], [bad]], 2, "refuse", (run) => runs.set(run.files.join(), run));
  assert.deepEqual([runs.get(good)!.passed, runs.get(bad)!.passed], [true, false]);
  assert.match(runs.get(bad)!.said, /does not hold[\s\S]*seven is not eight/);
  assert.match(runs.get(good)!.said, /holds/);
});

test("each file has its own folder for temporary files, which is removed with it", async () => {
  const place = join(folder, "place");
  const file = fileOf(
    "place",
    `import { writeFileSync } from "node:fs"; import { tmpdir } from "node:os";
     test("t", () => { writeFileSync(tmpdir() + "/left", ""); writeFileSync(${JSON.stringify(place)}, tmpdir()); });`,
  );
  assert.equal((await runTestFile([file], never, "refuse")).passed, true);
  const temporary = readFileSync(place, "utf8");
  assert.notEqual(temporary, tmpdir());
  assert.equal(existsSync(temporary), false);
});

test("a fast file that starts something fails, and says how to name it", async () => {
  const starts = {
    process: 'import { spawn } from "node:child_process"; test("t", () => { spawn("true"); });',
    waited: 'import { execFileSync } from "node:child_process"; test("t", () => { execFileSync("true"); });',
    server:
      'import { createServer } from "node:http"; test("t", () => { createServer().listen(0).close(); });',
  };
  for (const [name, text] of Object.entries(starts)) {
    const file = fileOf(name, text);
    const { passed, said } = await runTestFile([file], never, "refuse");
    assert.equal(passed, false, name);
    assert.match(
      said,
      /starts a (process|server), which a fast test must not do: name the file \*\.slow\.test\.ts/,
    );
    assert.equal((await runTestFile([file], never, "allow")).passed, true, name);
  }
});

test("a run reports its processor seconds, including those of the processes that it waited for", async () => {
  const busy = "const until = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < until);";
  const text = `import { execFileSync } from "node:child_process";
    test("t", () => { execFileSync(process.execPath, ["-e", ${JSON.stringify(busy)}]); });`;
  const { processorSeconds } = await runTestFile([fileOf("busy", text)], never, "allow");
  assert.ok(processorSeconds! >= (process.platform === "linux" ? 0.3 : 0), String(processorSeconds));
});

test("a file that never ends is killed when its time is over, with everything it started", {
  timeout: 600_000,
  skip: process.platform !== "linux" && "looks into /proc",
}, async () => {
  const told = join(folder, "pid");
  const hanging = fileOf(
    "hanging",
    `import { spawn } from "node:child_process"; import { readFileSync, renameSync, writeFileSync } from "node:fs";
       import { tmpdir } from "node:os";
       test("fails", () => { throw new Error("seven is not eight"); });
       const child = spawn("sleep", ["1000"], { detached: true, stdio: "inherit" });
       setInterval(() => {
         if (!readFileSync(tmpdir() + "/failures.tap", "utf8").includes("not eight")) return;
         writeFileSync(${JSON.stringify(`${told}.new`)}, String(child.pid));
         renameSync(${JSON.stringify(`${told}.new`)}, ${JSON.stringify(told)});
       }, 10);`,
  );
  const overdue = new AbortController();
  const ended = runTestFile([hanging], overdue.signal, "allow");
  while (!existsSync(told)) await pause(10);
  overdue.abort();
  const { passed, said } = await ended;
  assert.equal(passed, false);
  assert.match(said, /not ok 1 - fails[\s\S]*seven is not eight/);
  assert.match(said, /hanging\.test\.mjs did not end in its time/);
  const pid = Number(readFileSync(told, "utf8"));
  assert.ok(hasEnded(pid), "what the file started has ended");
});

/** Whether a process has ended, even if the parent that inherited it has not taken notice yet. */
function hasEnded(pid: number): boolean {
  const path = `/proc/${pid}/stat`;
  return !existsSync(path) || /\) [ZX] /.test(readFileSync(path, "utf8"));
}
