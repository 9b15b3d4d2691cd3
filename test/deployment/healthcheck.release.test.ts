/** The program of the images' HEALTHCHECK, with the command of a container's first process in a file. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

/** @returns the exit code of the check in a container with this command. */
async function check(t: TestContext, command: readonly string[], port: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-healthcheck-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "cmdline");
  writeFileSync(file, ["tini", "--", "mucast", ...command, ""].join("\0"));
  const env = { ...process.env, MUCAST_PORT: String(port) };
  const child = spawn(process.execPath, ["bin/healthcheck.cjs", file], { env, stdio: "inherit" });
  const [code] = await once(child, "exit");
  return code;
}

/** @returns the port of a server that answers /healthz with `status`. */
async function listen(t: TestContext, status: number): Promise<number> {
  const server = createServer(({ url }, response) => {
    response.writeHead(url === "/healthz" ? status : 404).end();
  });
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test("a service is healthy if it answers, on the port of its flag or its variable", async (t) => {
  const [healthy, failing] = [await listen(t, 200), await listen(t, 503)];
  assert.equal(await check(t, ["serve"], healthy), 0);
  assert.equal(await check(t, ["serve"], failing), 1);
  assert.equal(await check(t, ["serve", "--port", String(healthy)], failing), 0);
  assert.equal(await check(t, ["serve", `--port=${failing}`], healthy), 1);
});

test("a container that runs a job is healthy although no service answers", async (t) => {
  assert.equal(await check(t, ["run_ml_job", "--log", "json"], 9), 0);
});
