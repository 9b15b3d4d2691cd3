import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventuallyTrue } from "../../test/service/eventually.testing.ts";
import { stillRunning, treeOf } from "../../test/service/processes.testing.ts";
import type { FromChild, ToChild } from "./child.testing.ts";
import { Child } from "./child.ts";

const options = { timeout: 300_000 };
const onLinux = { ...options, skip: process.platform !== "linux" && "looks into /proc" };
const MODULE = fileURLToPath(new URL("./child.testing.ts", import.meta.url));

function startChild() {
  const values: unknown[] = [];
  const lines: string[] = [];
  const child = new Child<ToChild, FromChild>({
    module: MODULE,
    env: { PATH: process.env.PATH! },
    onMessage: ({ value }) => void values.push(value),
    onLine: (line) => void lines.push(line),
  });
  return { child, values, lines };
}

test(
  "whatever a child prints, its messages arrive unchanged, in order and before its end",
  options,
  async () => {
    const { child, values, lines } = startChild();
    const sent = Array.from({ length: 10_000 }, (_, nth) => ({ nth, loss: -0, text: "é\u2028\u0000" }));
    const text = `{"value":"printed"}${"x".repeat(100_000)}`;
    child.send({ op: "print", text, times: 20 });
    child.send({ op: "send", values: sent });
    child.send({ op: "print", text: `${text}\n`, times: 20 });
    child.send({ op: "send", values: [new Map([["NaN", NaN]]), Buffer.alloc(2 ** 24, 7)] });
    child.send({ op: "exit" });
    assert.deepEqual(await child.ended, { how: { exitCode: 0, signal: null }, reason: "exit code 0" });
    assert.deepEqual(values.slice(0, -2), sent);
    assert.deepEqual(values.at(-2), new Map([["NaN", NaN]]));
    assert.ok(Buffer.from(values.at(-1) as Uint8Array).equals(Buffer.alloc(2 ** 24, 7)));
    assert.ok(lines.every((line) => line.length <= 2 ** 18));
    assert.equal(lines.join("").length, 2 * 40 * text.length);
  },
);

test("a child ends by SIGTERM, or is killed", onLinux, async () => {
  const [stopped, killed] = [startChild(), startChild()];
  for (const { child, values } of [stopped, killed]) {
    child.send({ op: "send", values: ["ready"] });
    await eventuallyTrue("it is ready", () => values.length === 1);
  }
  stopped.child.stop();
  killed.child.kill();
  assert.equal((await stopped.child.ended).how?.signal, "SIGTERM");
  const { how, reason } = await killed.child.ended;
  assert.deepEqual([how?.signal, reason], ["SIGKILL", "it was ended by SIGKILL"]);
  killed.child.send({ op: "exit" });
  assert.equal(killed.child.held(0), 0);
});

test(
  "a child that computes when its parent is killed ends, with the processes that it has started",
  onLinux,
  async () => {
    const script = `
    import { Child } from ${JSON.stringify(new URL("./child.ts", import.meta.url).href)};
    const child = new Child({ module: ${JSON.stringify(MODULE)}, env: { PATH: process.env.PATH },
      onMessage: () => console.log("blocked"), onLine: (line) => console.error(line) });
    child.send({ op: "block" });`;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(parent.stdout, "data");
    const below = treeOf(parent.pid!).filter(({ pid }) => pid !== parent.pid);
    assert.equal(below.length, 2, "the child and the process that it has started");
    parent.kill("SIGKILL");
    await eventuallyTrue("both end", () => stillRunning(below).length === 0);
  },
);
