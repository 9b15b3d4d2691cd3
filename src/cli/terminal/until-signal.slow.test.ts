import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";

const MODULE = JSON.stringify(new URL("./signals.ts", import.meta.url).href);

/** Runs untilSignal with the source text `body` in a separate process. */
async function ended(
  body: string,
  onText: (text: string, kill: (signal: NodeJS.Signals) => void) => void = () => undefined,
) {
  const program = `import { untilSignal } from ${MODULE};
    const keep = setInterval(() => undefined, 1_000);
    const stopped = (signal) => new Promise((resolve) => signal.addEventListener("abort", resolve));
    await untilSignal(${body}).catch((error) => console.log(error.code));
    clearInterval(keep);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
    onText(text, (signal) => child.kill(signal));
  });
  return new Promise<{ code: number | null; signal: string | null; stdout: string }>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal, stdout }));
  });
}

test("one signal aborts the body with canceled", { timeout: 600_000 }, async () => {
  const { code, stdout } = await ended(
    `async (signal) => { console.log("ready"); await stopped(signal); throw signal.reason; }`,
    (text, kill) => {
      if (text === "ready\n") kill("SIGTERM");
    },
  );
  assert.deepEqual([code, stdout], [0, "ready\ncanceled\n"]);
});

test("a second signal ends a process that continues, by that signal", { timeout: 600_000 }, async () => {
  const { signal, stdout } = await ended(
    `async (signal) => { console.log("ready"); await stopped(signal); console.log("aborted"); await new Promise(() => undefined); }`,
    (_, kill) => kill("SIGINT"),
  );
  assert.deepEqual([signal, stdout], ["SIGINT", "ready\naborted\n"]);
});

test("two signals that arrive while the main thread is busy count as two", { timeout: 600_000 }, async () => {
  const { signal } = await ended(
    `async () => { for (let i = 0; i < 2; i++) process.kill(process.pid, "SIGINT"); await new Promise(() => undefined); }`,
  );
  assert.equal(signal, "SIGINT");
});

test("two terminations at once, as under npm and timeout, count as one", {
  timeout: 600_000,
}, async () => {
  const { code, stdout } = await ended(
    `async (signal) => {
      for (let i = 0; i < 2; i++) process.kill(process.pid, "SIGTERM");
      await stopped(signal);
      await new Promise((resolve) => setImmediate(resolve));
      throw signal.reason;
    }`,
  );
  assert.deepEqual([code, stdout], [0, "canceled\n"]);
});
