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

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "mucast-healthcheck-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** @returns the exit code of the check in a container with this command. */
async function check(
  t: TestContext,
  command: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<number> {
  const folder = newFolder(t);
  const file = join(folder, "cmdline");
  writeFileSync(file, ["tini", "--", "mucast", ...command, ""].join("\0"));
  const env = { ...process.env, ...variables };
  const child = spawn(process.execPath, ["bin/healthcheck.cjs", file], { env, stdio: "inherit" });
  const [code] = await once(child, "exit");
  return code;
}

/** @returns the port of a server that answers /healthz with `status`. */
async function listen(t: TestContext, status: number, host = "127.0.0.1"): Promise<number> {
  const server = createServer(({ url }, response) => {
    response.writeHead(url === "/healthz" ? status : 404).end();
  });
  t.after(() => server.close());
  server.listen(0, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test("a service is healthy if it answers, on the port of its flag, its variable or its settings file", async (t) => {
  const [healthy, failing] = [String(await listen(t, 200)), String(await listen(t, 503))];
  assert.equal(await check(t, ["serve"], { MUCAST_PORT: healthy }), 0);
  assert.equal(await check(t, ["serve"], { MUCAST_PORT: failing }), 1);
  assert.equal(await check(t, ["serve", "--port", healthy], { MUCAST_PORT: failing }), 0);
  assert.equal(await check(t, ["serve", `--port=${failing}`], { MUCAST_PORT: healthy }), 1);
  const file = join(newFolder(t), "settings.json");
  writeFileSync(file, JSON.stringify({ host: "0.0.0.0", port: Number(healthy) }));
  assert.equal(await check(t, ["serve"], { MUCAST_SETTINGS: file, MUCAST_PORT: "" }), 0);
  assert.equal(await check(t, ["serve", "--settings", file], {}), 0);
  assert.equal(await check(t, ["serve"], { MUCAST_SETTINGS: file, MUCAST_PORT: failing }), 1);
});

test("a service is asked at the address that it listens on", async (t) => {
  const port = String(await listen(t, 200, "127.0.0.2"));
  assert.equal(await check(t, ["serve"], { MUCAST_PORT: port, MUCAST_HOST: "127.0.0.2" }), 0);
  assert.equal(await check(t, ["serve", "--host=127.0.0.1"], { MUCAST_PORT: port }), 1);
});

test("a container that runs a job is healthy although no service answers", async (t) => {
  assert.equal(await check(t, ["run_ml_job", "--log", "json"], { MUCAST_PORT: "9" }), 0);
});
