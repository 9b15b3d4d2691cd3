import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, listenFor } from "./listening.testing.ts";
import type { ReadyCheck } from "./server/http-app.ts";

test("/healthz always answers 200, and /readyz only if every check passes", async (t) => {
  let checks: ReadyCheck[] = [
    { name: "database", ok: true },
    { name: "storage", ok: true },
  ];
  const service = await listenFor(t, {}, { ready: async () => checks });
  const ready = await ask(service.port, { path: "/readyz" });
  assert.deepEqual([ready.status, JSON.parse(ready.text).checks.length], [200, 2]);
  checks = [
    { name: "database", ok: true },
    { name: "storage", ok: false, message: "it does not answer" },
  ];
  const away = await ask(service.port, { path: "/readyz" });
  const problem = JSON.parse(away.text);
  assert.deepEqual(
    [away.status, problem.code, problem.detail],
    [503, "unavailable", "storage: it does not answer"],
  );
  assert.deepEqual(problem.checks, checks);
  assert.equal((await ask(service.port, { path: "/healthz" })).status, 200);
});

test("of many probes that a service is not ready for, the log has the first", async (t) => {
  const passing: ReadyCheck[] = [
    { name: "storage", ok: true },
    { name: "accepting", ok: true },
  ];
  const without = (failed: string): ReadyCheck[] =>
    passing.map((check) => (check.name === failed ? { ...check, ok: false, message: "away" } : check));
  let checks = passing;
  const service = await listenFor(t, {}, { ready: async () => checks });
  for (checks of [passing, without("storage"), passing, without("accepting")]) {
    for (let probe = 0; probe < 3; probe++) await ask(service.port, { path: "/readyz" });
  }
  const lines = service.logged.map((line) => JSON.parse(line)).filter(({ message }) => message !== "request");
  assert.deepEqual(lines, [
    { message: "the service is not ready", detail: "storage: away" },
    { message: "the service is ready" },
    { message: "the service is not ready", detail: "accepting: away" },
  ]);
});

test("/metrics needs no credentials with auth none, and read otherwise", async (t) => {
  const open = await listenFor(t);
  // As behind a proxy on the same machine.
  const shut = await listenFor(t, { auth: "keys" });
  const { token } = await shut.keys.create("prometheus", ["read"]);
  const status = async (port: number, headers = {}) =>
    (await ask(port, { path: "/metrics", headers })).status;
  assert.equal(await status(open.port), 200);
  assert.equal(await status(shut.port), 401);
  assert.equal(await status(shut.port, { authorization: `Bearer ${token}` }), 200);
});
