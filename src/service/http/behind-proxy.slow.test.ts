import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { call, connect } from "../mcp/client.testing.ts";
import { ML_PAYLOAD } from "./examples.ts";
import { eventually, type Listening, listen } from "./listening.testing.ts";

const hasCaddy = spawnSync("caddy", ["version"]).status === 0;

/** A free port of this machine. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

describe("behind the Caddy of infra/proxy", { skip: hasCaddy ? false : "caddy is not installed" }, () => {
  let service: Listening;
  let proxied: string;
  let caddy: ReturnType<typeof spawn>;

  before(async () => {
    service = await listen({ auth: "keys", trusted_proxies: ["127.0.0.1"] });
    proxied = `http://127.0.0.1:${await freePort()}`;
    caddy = spawn("caddy", ["run", "--config", "infra/proxy/Caddyfile", "--adapter", "caddyfile"], {
      env: { ...process.env, MUCAST_SITE: proxied, MUCAST_UPSTREAM: `127.0.0.1:${service.port}` },
      stdio: "ignore",
    });
    await eventually(async () => (await fetch(`${proxied}/docs`).catch(() => undefined))?.status === 200);
  });
  after(async () => {
    caddy.kill();
    await once(caddy, "exit");
    await service.close();
  });

  async function caller(name: string) {
    const { key, token } = await service.keys.create(name, ["read", "write"]);
    const send = (path: string, options: RequestInit = {}) =>
      fetch(`${proxied}${path}`, {
        ...options,
        headers: { authorization: `Bearer ${token}`, ...(options.headers as Record<string, string>) },
      });
    return { key, token, send };
  }

  const SUBMISSION = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(ML_PAYLOAD),
  };

  test("an upload of megabytes is stored, and its URL names the proxy", async () => {
    const { send } = await caller("uploads");
    const body = randomBytes(2 ** 23);
    const stored = await send("/data/feature_engine_a.json", { method: "PUT", body });
    assert.equal(stored.status, 201);
    const { url } = (await stored.json()) as { url: string };
    assert.equal(url, `${proxied}/data/feature_engine_a.json`);
    const read = await send("/data/feature_engine_a.json");
    assert.ok(Buffer.from(await read.arrayBuffer()).equals(body));
  });

  test("events arrive when they happen, and a wait is answered at the end of its job", async () => {
    const { send } = await caller("follows");
    const { id } = (await (await send("/v1/run_ml_job", SUBMISSION)).json()) as { id: string };
    const stream = await send(`/v1/operations/${id}/events`);
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("event: queued")) text += (await reader.read()).value;
    const listeners = service.operations.listeners;
    const waiting = send(`/v1/operations/${id}`, { headers: { prefer: "wait=60" } });
    await eventually(() => service.operations.listeners > listeners);
    service.operations.start(id);
    while (!text.includes("event: started")) text += (await reader.read()).value;
    service.operations.end(id);
    assert.equal(((await (await waiting).json()) as { status: string }).status, "Succeeded");
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
    assert.ok(text.includes("event: succeeded"));
  });

  test("an MCP client runs a job, and probes are not for the network", async () => {
    const { token } = await caller("agent");
    const client = await connect({ ...service, origin: proxied }, "auto", token);
    const { value } = await call(client, "run_ml_job", ML_PAYLOAD);
    assert.equal(value.status, "NotStarted");
    await client.close();
    assert.equal((await fetch(`${proxied}/metrics`)).status, 404);
  });
});
