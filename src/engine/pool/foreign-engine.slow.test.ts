import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type FakeCluster, rejection, resultOf, useFakeCluster } from "../../../test/engine/fake-cluster.ts";
import { type GatewayProcess, GREETING, type Request } from "../../../test/engine/fake-gateway.ts";
import { isRunning } from "../../contract/machine/process-stat.ts";
import type { EnginePool } from "./pool.ts";

const options = { timeout: 600_000 };

let fake: FakeCluster;
useFakeCluster((made) => {
  fake = made;
});

/** A pool of this machine whose host is the fake; it has sent its greeting. */
async function hosted(): Promise<{ readonly pool: EnginePool; readonly host: GatewayProcess }> {
  const pool = fake.fixture.start({ python: fake.gateway.python });
  return { pool, host: await nextHost() };
}

async function nextHost(): Promise<GatewayProcess> {
  const host = await fake.gateway.started();
  host.greet({ start: "fork" });
  return host;
}

/** The next task; the pool starts a worker for the first task of a host. */
async function given(host: GatewayProcess): Promise<Request> {
  const request = await host.next();
  if (request?.op === "task") return request;
  assert.equal(request?.op, "start");
  host.say({ event: "worker_started", worker: request.worker });
  return host.expect("task");
}

describe("a host that writes text that is no message", options, () => {
  const TEXTS = ['{"event": "result", "id": 2, "resu', 'lt": {}}', "", "null", '{"event": 7}', "printed"];

  test("before its greeting, also without a line feed, is judged by its greeting", async () => {
    const lines: string[] = [];
    const pool = fake.fixture.start({ python: fake.gateway.python, log: (line) => lines.push(line) });
    const host = await fake.gateway.started();
    host.sayLine(...TEXTS, `glued${JSON.stringify({ event: "ready", ...GREETING, start: "fork" })}`);
    const running = pool.run(fake.task("A"));
    host.say(resultOf(await given(host)));
    await running;
    assert.deepEqual(lines, [...TEXTS, "glued"]);
  });

  test("is killed and its task retried; the second time fails it with the reason", async () => {
    const { pool, host } = await hosted();
    const running = rejection(pool.run(fake.task("A")));
    await given(host);
    host.sayLine(TEXTS[0]!);
    const second = await nextHost();
    await given(second);
    second.sayLine("null");
    const error = await running;
    assert.equal(error.code, "engine_crashed");
    assert.match(error.message, /ended twice \(it wrote a line that is not a message of the engine\)/);
  });
});

test("does not wait for a process that holds the pipes of an ended host", options, async () => {
  const { folder } = fake.fixture;
  const python = join(folder, "wrapper");
  const left = join(folder, "left");
  const script = `#!/bin/sh\nsleep 3600 &\necho $! > '${left}'\nexec '${fake.gateway.python}' "$@"\n`;
  writeFileSync(python, script, { mode: 0o755 });
  const pool = fake.fixture.start({ python });
  const host = await nextHost();
  const pid = Number(readFileSync(left, "utf8"));
  try {
    const running = pool.run(fake.task("A"));
    host.say(resultOf(await given(host)));
    await running;
    await pool.close();
    assert.equal(isRunning(pid), true);
  } finally {
    process.kill(pid, "SIGKILL");
  }
});
