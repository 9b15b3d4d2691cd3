import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { API_OPERATIONS } from "../../contract/api/operations.ts";
import { ML_PAYLOAD } from "../http/examples.ts";
import { ask, type Listening, listen } from "../http/listening.testing.ts";
import { connect } from "./client.testing.ts";

let service: Listening;

before(async () => {
  service = await listen();
});
after(() => service.close());

test("docs/mcp.md names every tool, and no other", () => {
  const docs = readFileSync(new URL("../../../docs/mcp.md", import.meta.url), "utf8");
  const rows = [...docs.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name]) => name);
  assert.deepEqual(rows.toSorted(), Object.keys(API_OPERATIONS).toSorted());
});

describe("the tools", () => {
  test("publish every field of a config, in schemas without $ref that accept the examples", async () => {
    const client = await connect(service, "legacy");
    const { tools } = await client.listTools();
    await client.close();
    for (const { name, inputSchema } of tools)
      assert.doesNotMatch(JSON.stringify(inputSchema), /\$ref/, name);
    const { inputSchema } = tools.find(({ name }) => name === "run_ml_job")!;
    const holds = new Ajv2020({ strict: false }).compile(inputSchema);
    assert.ok(holds(ML_PAYLOAD), JSON.stringify(holds.errors));
    assert.ok(holds({ ...ML_PAYLOAD, config: JSON.stringify(ML_PAYLOAD.config), idempotency_key: "k" }));
    assert.ok(!holds({ ...ML_PAYLOAD, config: { "ML params": { n_splits: 3 } } }));
    assert.ok(!holds({ ...ML_PAYLOAD, seed: 1 }));
  });

  test("take at most 40 KB of an agent's context", async () => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const { text } = await ask(service.port, { method: "POST", path: "/mcp", headers }, message);
    assert.ok(text.includes('"cancel_operation"'), text);
    assert.ok(text.length < 40_000, String(text.length));
  });

  test("have no name that every object has", async () => {
    for (const mode of ["legacy", "auto"] as const) {
      const client = await connect(service, mode);
      for (const name of ["__proto__", "constructor", "toString", "no_tool"])
        await assert.rejects(client.callTool({ name, arguments: {} }), new RegExp(`Tool ${name} not found`));
      await client.close();
    }
  });

  test("state what they change", async () => {
    const client = await connect(service, "legacy");
    const { tools } = await client.listTools();
    await client.close();
    const hints = tools.map(({ name, annotations: hint }) => [
      name,
      [hint?.readOnlyHint, hint?.destructiveHint, hint?.idempotentHint, hint?.openWorldHint],
    ]);
    assert.deepEqual(Object.fromEntries(hints), {
      run_ml_job: [false, false, false, true],
      run_dl_job: [false, false, false, true],
      audit: [false, false, false, true],
      replay: [false, false, false, true],
      get_verdict: [true, false, true, false],
      get_operation: [true, false, true, false],
      get_forecast: [true, false, true, false],
      list_operations: [true, false, true, false],
      cancel_operation: [false, true, true, false],
    });
  });
});
