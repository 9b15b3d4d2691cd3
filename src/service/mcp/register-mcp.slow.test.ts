import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { OperationPage } from "../../contract/api/operation-view.ts";
import { ML_PAYLOAD } from "../http/examples.ts";
import { ask, type Listening, listen, listenFor } from "../http/listening.testing.ts";
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

  test("answers a body that is no JSON or no message by its protocol", async () => {
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_ml_job","arguments":${JSON.stringify(ML_PAYLOAD)}}}`;
    for (const [body, code] of [
      ["{", -32700],
      ["", -32700],
      [`\uFEFF${call}`, -32700],
      ["null", -32600],
      ["[]", -32600],
      ['{"jsonrpc":"2.0"}', -32600],
    ] as const) {
      const headers = { ...JSON_TYPE, accept: "application/json, text/event-stream" };
      const { status, text } = await ask(service.port, { method: "POST", path: "/mcp", headers }, body);
      assert.equal(status, 400, text);
      assert.equal(JSON.parse(text).error.code, code, text);
      assert.equal(JSON.parse(text).id, null, text);
    }
  });

  test("runs a batch, counts each of its messages before it runs any, and refuses a long one", async (t) => {
    const slow = await listenFor(t, { requests_per_minute: 10 });
    const list = t.mock.method(slow.operations, "list");
    const headers = { ...JSON_TYPE, accept: "application/json, text/event-stream" };
    const send = (count: number) => {
      const params = { name: "list_operations", arguments: {} };
      const one = (_: unknown, id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params });
      const body = JSON.stringify(Array.from({ length: count }, one));
      return ask(slow.port, { method: "POST", path: "/mcp", headers }, body);
    };
    const { status, text } = await send(4);
    assert.equal(status, 200, text);
    assert.equal(list.mock.callCount(), 4, text);
    assert.equal((await send(500)).status, 400);
    assert.equal((await send(6)).status, 429);
    assert.equal(list.mock.callCount(), 4);
  });

  test("has no stream to open and no session to close", async () => {
    for (const method of ["GET", "DELETE"]) {
      const { status, headers } = await ask(service.port, { method, path: "/mcp" });
      assert.deepEqual([status, headers.allow], [405, "POST"]);
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
});
