import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { OperationPage } from "../../contract/api/operation-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { ask, type Listening, listen } from "../http/listening.testing.ts";
import { ML_PAYLOAD } from "../http/openapi/examples.ts";
import { loopTurns } from "../http/server/request-bodies.ts";
import { call, connect, refused } from "./client.testing.ts";

let service: Listening;

before(async () => {
  service = await listen();
});
after(() => service.close());

describe("a service with keys", () => {
  let guarded: Listening;
  before(async () => {
    guarded = await listen({ auth: "keys" });
  });
  after(() => guarded.close());

  test("refuses a request without a key", async () => {
    await assert.rejects(connect(guarded, "legacy"));
    await assert.rejects(connect(guarded, "legacy", "mucast_0_0"));
  });

  test("lets a key with the scope read only read", async () => {
    const { token } = await guarded.keys.create("reader", ["read"]);
    const client = await connect(guarded, "legacy", token);
    assert.deepEqual((await call<OperationPage>(client, "list_operations")).value.operations, []);
    const problem = await refused(client, "run_ml_job", ML_PAYLOAD);
    assert.deepEqual([problem.code, problem.scope], ["forbidden", "write"]);
    await client.close();
  });

  test("shows a caller only its own operations", async () => {
    const [ann, ben] = await Promise.all(
      ["ann", "ben"].map(async (name) => {
        const { token } = await guarded.keys.create(name, ["read", "write"]);
        return connect(guarded, "auto", token);
      }),
    );
    const { id } = (await call(ann!, "run_ml_job", ML_PAYLOAD)).value;
    assert.equal((await refused(ben!, "get_operation", { id })).code, "not_found");
    assert.equal((await call(ann!, "get_operation", { id })).value.id, id);
    await Promise.all([ann!.close(), ben!.close()]);
  });
});

describe("the endpoint", () => {
  const JSON_TYPE = { "content-type": "application/json" };

  test("takes a turn of the event loop for each body", async (t) => {
    const next = t.mock.method(loopTurns, "next");
    const headers = { ...JSON_TYPE, accept: "application/json, text/event-stream" };
    await ask(service.port, { method: "POST", path: "/mcp", headers }, "{}");
    await ask(service.port, { method: "POST", path: "/v1/run_ml_job", headers }, "{}");
    assert.deepEqual(
      next.mock.calls.map(({ arguments: [caller] }) => caller),
      ["local", "local"],
    );
  });

  test("refuses a message of thousands of values, whatever its method, and accepts them in a config that is text", async () => {
    const many = JSON.stringify(
      Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`k${index}`, 1])),
    );
    for (const params of [
      `{"name":"list_operations","arguments":${many}}`,
      `{"name":"list_operations","arguments":{},"_meta":${many}}`,
      `{"name":"run_ml_job","arguments":{"config":${many}}}`,
    ]) {
      const message = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":${params}}`;
      const headers = { ...JSON_TYPE, accept: "application/json, text/event-stream" };
      const { status, text } = await ask(service.port, { method: "POST", path: "/mcp", headers }, message);
      const { id, error } = JSON.parse(text);
      assert.deepEqual([status, id, error.code], [400, "a", -32600], text);
      assert.match(error.message, /more than 2000 values/);
    }
    const args = JSON.stringify({ ...ML_PAYLOAD, config: `{"other":${many}}` });
    const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_ml_job","arguments":${args}}}`;
    const headers = { ...JSON_TYPE, accept: "application/json, text/event-stream" };
    const { status } = await ask(service.port, { method: "POST", path: "/mcp", headers }, message);
    assert.equal(status, 200);
  });

  test("answers a body that is no JSON or no message by its protocol", async () => {
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_ml_job","arguments":${JSON.stringify(ML_PAYLOAD)}}}`;
    for (const [body, code] of [
      ["{", -32700],
      ["", -32700],
      [`\uFEFF${call}`, -32700],
      [`\uFEFF\uFEFF${call}`, -32700],
      [`\u00a0${call}`, -32700],
      [Buffer.from(call, "utf16le"), -32700],
      [Buffer.from(call.replace("}}", ',"x":"\xff"}}'), "latin1"), -32700],
      ["null", -32600],
      ["[]", -32600],
      [`[${call}]`, -32600],
      ['{"jsonrpc":"2.0"}', -32600],
    ] as const) {
      const headers = { ...JSON_TYPE, accept: "application/json, text/event-stream" };
      const { status, text } = await ask(service.port, { method: "POST", path: "/mcp", headers }, body);
      assert.equal(status, 400, text);
      assert.equal(JSON.parse(text).error.code, code, text);
      assert.equal(JSON.parse(text).id, null, text);
    }
  });

  test("answers a batch with what to do, and runs none of its calls", async (t) => {
    const list = t.mock.method(service.operations, "list");
    const params = { name: "list_operations", arguments: {} };
    const calls = Array.from({ length: 100 }, (_, id) => ({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params,
    }));
    const headers = { ...JSON_TYPE, accept: "application/json, text/event-stream" };
    const body = JSON.stringify(calls);
    const { status, text } = await ask(service.port, { method: "POST", path: "/mcp", headers }, body);
    assert.equal(status, 400);
    const message = "batches are not supported: send each message of the batch on its own";
    assert.deepEqual(JSON.parse(text), { jsonrpc: "2.0", id: null, error: { code: -32600, message } });
    assert.equal(list.mock.callCount(), 0);
  });

  test("has no stream to open and no session to close", async () => {
    for (const method of ["GET", "DELETE"]) {
      const { status, headers } = await ask(service.port, { method, path: "/mcp" });
      assert.deepEqual([status, headers.allow], [405, "POST"]);
    }
  });

  test("refuses foreign hosts and pages", async () => {
    for (const headers of [{ host: "evil.example" }, { origin: "https://evil.example" }]) {
      const { status } = await ask(
        service.port,
        { method: "POST", path: "/mcp", headers: { ...JSON_TYPE, ...headers } },
        "{}",
      );
      assert.ok(status === 403 || status === 421, String(status));
    }
  });

  test("ends its requests when the service closes", async () => {
    const own = await listen();
    const client = await connect(own, "auto");
    const listening = await client.listen({ toolsListChanged: true });
    await own.close();
    assert.ok(listening);
    await client.close();
  });

  test("marks a temporary refusal of the service as one", async () => {
    const client = await connect(service, "legacy");
    service.operations.failure = new MucastError("rate_limited", "1000 operations wait", { retryAfter: 30 });
    const problem = await refused(client, "run_ml_job", ML_PAYLOAD);
    assert.deepEqual([problem.code, problem.retryAfter], ["rate_limited", 30]);
    await client.close();
  });
});
