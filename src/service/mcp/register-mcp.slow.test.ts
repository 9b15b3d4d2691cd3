import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { ForecastView } from "../../contract/api/forecast-view.ts";
import {
  type OperationPage,
  type OperationView,
  operationSchema,
  type VerdictView,
} from "../../contract/api/operation-view.ts";
import { API_OPERATIONS } from "../../contract/api/operations.ts";
import { samplesOf } from "../../contract/api/samples.testing.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Problem } from "../../contract/problems/problem.ts";
import { ask, type Listening, listen } from "../http/listening.testing.ts";
import { FORECAST, ML_PAYLOAD } from "../http/openapi/examples.ts";
import { loopTurns } from "../http/server/request-bodies.ts";

interface Answer<T> {
  readonly isError: boolean;
  readonly text: string;
  readonly value: T;
}

let service: Listening;

before(async () => {
  service = await listen();
});
after(() => service.close());

async function connect(mode: "legacy" | "auto", at = service, key?: string): Promise<Client> {
  const client = new Client({ name: "a test", version: "1" }, { versionNegotiation: { mode } });
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${at.origin}/mcp`), { requestInit: { headers } }),
  );
  return client;
}

async function call<T = OperationView>(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Answer<T>> {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
  const [{ text }] = content as unknown as [{ text: string }];
  return { isError: isError === true, text, value: structuredContent as T };
}

async function refused(client: Client, name: string, args: Record<string, unknown>): Promise<Problem> {
  const { isError, text, value } = await call(client, name, args);
  assert.equal(isError, true, text);
  assert.equal(value, undefined);
  return JSON.parse(text);
}

for (const [mode, revision] of [
  ["legacy", "with an initialize"],
  ["auto", "without one"],
] as const) {
  describe(`the SDK's client over HTTP, in the revision ${revision}`, () => {
    let client: Client;
    before(async () => {
      client = await connect(mode);
    });
    after(() => client.close());

    test("finds a tool for every operation, and instructions for them", async () => {
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        Object.keys(API_OPERATIONS),
      );
      for (const { name, description, inputSchema, outputSchema } of tools) {
        assert.equal(description, API_OPERATIONS[name as keyof typeof API_OPERATIONS].description);
        assert.equal(inputSchema.type, "object");
        assert.equal(outputSchema?.type, "object");
      }
      assert.ok(client.getInstructions()!.includes(`PUT ${service.origin}/data/<name>`));
      assert.deepEqual(client.getServerVersion()?.name, "mucast");
    });

    test("runs a job, reads it, finds it in the list and cancels it", async () => {
      const submitted = await call(client, "run_ml_job", ML_PAYLOAD);
      assert.equal(submitted.value.status, "NotStarted");
      const { id } = submitted.value;
      assert.match(submitted.text, new RegExp(`^run_ml_job ${id}: NotStarted\\. Ask get_operation`));
      service.operations.start(id);
      assert.equal((await call(client, "get_operation", { id })).value.status, "Running");
      const page = await call<OperationPage>(client, "list_operations", { status: "Running" });
      assert.deepEqual(
        page.value.operations.map((operation) => operation.id),
        [id],
      );
      assert.ok(page.text.startsWith(`${id} run_ml_job Running, created 2`));
      await call(client, "cancel_operation", { id });
      service.operations.end(id, "Canceled");
      const ended = await call(client, "get_operation", { id });
      assert.equal(ended.isError, false);
      assert.match(ended.text, /: Canceled\./);
    });

    test("reads the forecast of a job, and gets a problem where there is none yet", async () => {
      const { id } = (await call(client, "run_ml_job", ML_PAYLOAD)).value;
      const early = await refused(client, "get_forecast", { id });
      assert.deepEqual([early.code, early.status, early.operation_status], ["no_result", 409, "NotStarted"]);
      service.operations.start(id);
      service.operations.end(id);
      const { value, text } = await call<ForecastView>(client, "get_forecast", {
        id,
        tickers: ["AAPL", "B"],
      });
      assert.deepEqual(value, { ...FORECAST, id, count: 2 });
      assert.match(
        text,
        /^run_ml_job \S+ as of 2026-01-05: 1 of 2 tickers with a mu\.\n"AAPL" mu 0\.00123, hit rate 0\.5139 ± 0\.0315 \(0\.5321 of the returns were up\)/,
      );
      assert.match(text, /, coverage 0\.897, shrinkage 0\.14 \(slope 0\.41 ± 0\.27\)\n/);
      assert.match(text, /\nAll tickers: .*; shrinkage 0\.11 \(slope 0\.19 ± 0\.08\)\.$/);
      const both = await refused(client, "get_forecast", { id, tickers: [], limit: 51 });
      assert.deepEqual((both.faults as { path: string }[]).map(({ path }) => path).sort(), [
        "arguments.limit",
        "arguments.limit",
        "arguments.tickers",
      ]);
      const unclear = await refused(client, "get_forecast", { id, tickers: ["A"], limit: 1 });
      assert.match(unclear.detail, /^arguments\.limit: give tickers or limit, not both/);
    });

    test("replays an output by its URL alone, and reads the verdict", async () => {
      const output_url = "https://a.example/c/data/ml_engine_1.json";
      const { value, text } = await call<OperationView>(client, "replay", { output_url });
      assert.equal(value.operation, "replay");
      assert.match(text, /^replay \S+: NotStarted\. Ask get_operation/);
      assert.equal((await refused(client, "get_verdict", { id: value.id })).code, "no_result");
      service.operations.start(value.id);
      service.operations.end(value.id);
      const done = await call<OperationView>(client, "get_operation", { id: value.id });
      assert.match(done.text, /The verdict is the blob \S+; get_verdict gives it\./);
      const verdict = await call<VerdictView>(client, "get_verdict", { id: value.id });
      assert.equal(verdict.value.replay?.verdict, "identical");
      assert.match(verdict.text, /^replay \S+: identical\.\n734 numbers compared\.$/);
      const audit = { ...ML_PAYLOAD, config: JSON.stringify(ML_PAYLOAD.config), chekcs: ["skill"] };
      const { faults } = await refused(client, "audit", audit);
      assert.deepEqual(faults, [
        {
          path: "chekcs",
          message: (faults as { message: string }[])[0]!.message,
          suggestion: "checks",
        },
      ]);
    });

    test("gets every fault of a payload at once, as a problem", async () => {
      let nested: unknown = [];
      for (let depth = 0; depth < 1_900; depth++) nested = [nested];
      const deep = await refused(client, "run_ml_job", { ...ML_PAYLOAD, feature_url: nested });
      assert.match(deep.detail, /more than 65 levels/, JSON.stringify(deep));
      const wrapped = await refused(client, "run_ml_job", { ...ML_PAYLOAD, feature_url: { url: "f" } });
      assert.match(wrapped.detail, /feature_url: must be .*, got \{"url":"f"\}/);
      const config = { "ML params": { model: "ridge", n_split: 3, cv_test_size: 0 } };
      const problem = await refused(client, "run_ml_job", { ...ML_PAYLOAD, feature_url: undefined, config });
      assert.equal(problem.code, "invalid_request");
      assert.deepEqual((problem.faults as { path: string }[]).map(({ path }) => path).sort(), [
        "config.ML params.cv_test_size",
        "config.ML params.n_split",
        "feature_url",
      ]);
      assert.match(problem.advice, /Correct/);
    });

    test("gets the faults in arguments of the other tools", async () => {
      const problem = await refused(client, "list_operations", { status: "Done", limit: 1_000 });
      assert.deepEqual((problem.faults as { path: string }[]).map(({ path }) => path).sort(), [
        "arguments.limit",
        "arguments.status",
      ]);
      let nested: unknown = [];
      for (let depth = 0; depth < 1_900; depth++) nested = [nested];
      for (const tool of ["get_operation", "cancel_operation"]) {
        assert.equal((await refused(client, tool, { id: nested })).code, "invalid_request");
      }
      assert.equal((await refused(client, "get_operation", { id: "nothing" })).code, "not_found");
      assert.equal((await refused(client, "cancel_operation", {})).code, "invalid_request");
    });

    test("gets the same operation for the same idempotency key", async () => {
      const first = await call(client, "run_ml_job", { ...ML_PAYLOAD, idempotency_key: `${mode}-1` });
      const second = await call(client, "run_ml_job", { ...ML_PAYLOAD, idempotency_key: `${mode}-1` });
      assert.equal(second.value.id, first.value.id);
      const other = { ...ML_PAYLOAD, feature_url: ML_PAYLOAD.data_extractor_url };
      const problem = await refused(client, "run_ml_job", { ...other, idempotency_key: `${mode}-1` });
      assert.deepEqual([problem.code, problem.status], ["idempotency_conflict", 422]);
      const key = await refused(client, "run_ml_job", { ...ML_PAYLOAD, idempotency_key: "a key" });
      assert.deepEqual([key.code, key.path], ["invalid_request", "idempotency_key"]);
    });

    test("gets no details of a defect, which the log has", async () => {
      service.operations.failure = new Error("the inside of the service");
      const problem = await refused(client, "get_operation", { id: "one" });
      assert.equal(problem.code, "internal");
      assert.doesNotMatch(JSON.stringify(problem), /inside of the service/);
      assert.ok(service.logged.some((line) => line.includes(String(problem.id))));
    });
  });
}

test("docs/mcp.md names every tool, and no other", () => {
  const docs = readFileSync(new URL("../../../docs/mcp.md", import.meta.url), "utf8");
  const rows = [...docs.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name]) => name);
  assert.deepEqual(rows.toSorted(), Object.keys(API_OPERATIONS).toSorted());
});

describe("the tools", () => {
  test("publish every field of a config, in schemas without $ref that accept the examples", async () => {
    const client = await connect("legacy");
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

  test("publish output schemas that are open to a later version, except for the result record", async () => {
    const client = await connect("legacy");
    const { tools } = await client.listTools();
    await client.close();
    const { outputSchema } = tools.find(({ name }) => name === "get_operation")!;
    const holds = new Ajv2020({ strict: false, validateFormats: false }).compile(outputSchema as object);
    const [operation] = samplesOf(operationSchema) as {
      result: object;
      progress: object;
      warnings: object[];
    }[];
    const warnings = [{ ...operation!.warnings[0], code: "added_later", added_later: 1 }];
    const progress = { ...operation!.progress, stage: "added_later", added_later: 1 };
    assert.ok(holds({ ...operation, warnings, progress, added_later: 1 }), JSON.stringify(holds.errors));
    assert.ok(!holds({ ...operation, result: { ...operation!.result, added_later: 1 } }));
  });

  test("state what they change", async () => {
    const client = await connect("legacy");
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

describe("numbers of a config", () => {
  const CONFIG =
    '{"ML params": {"model": "ridge", "model_params": {"alpha": 1.0, "random_state": 1152921504606846977}}}';
  const { config: _, ...URLS } = ML_PAYLOAD;

  /** A tool call as a client of either revision writes it, with `config` as raw text. */
  async function post(config: string, extra: Record<string, string> = {}, meta = ""): Promise<string> {
    const args = `${JSON.stringify(URLS).slice(0, -1)},"config":${config}}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_ml_job",${meta}"arguments":${args}}}`;
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...extra,
    };
    const { status, text } = await ask(service.port, { method: "POST", path: "/mcp", headers }, body);
    assert.equal(status, 200, text);
    return text.replace(/^(event|id): .*\n/gm, "").replace(/^data: /m, "");
  }

  async function submittedBy(text: string): Promise<string> {
    const { result } = JSON.parse(text);
    assert.equal(result.isError, undefined, text);
    return service.operations.submissionOf(result.structuredContent.id).payload;
  }

  test("reach the job as the client wrote them where the config is text, in either revision", async () => {
    const meta =
      '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
      '"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},';
    const modern = {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "run_ml_job",
    };
    const config = JSON.stringify(CONFIG);
    for (const text of [await post(config), await post(config, modern, meta)])
      assert.ok((await submittedBy(text)).includes(CONFIG), text);
  });

  test("are those of JSON where the config is an object", async () => {
    assert.ok((await submittedBy(await post(CONFIG))).includes(JSON.stringify(JSON.parse(CONFIG))));
  });

  test("the fault of a config that is not JSON, too deep, or has a repeated key names its position", async () => {
    for (const [config, message] of [
      ['{"ML params": }', /line 1, column 15/],
      [`${"[".repeat(1_900)}${"]".repeat(1_900)}`, /more than 65 levels/],
      ['{"ML params": {"model": "ridge", "model": "lasso"}}', /model: appears twice/],
      [
        '{"ML params": {"model": "ridge", "model_params": {"alpha": 1e999}}}',
        /beyond the range of a float64/,
      ],
    ] as const) {
      const { result } = JSON.parse(await post(JSON.stringify(config)));
      assert.equal(result.isError, true);
      const problem: Problem = JSON.parse(result.content[0].text);
      assert.equal(problem.code, "invalid_request");
      assert.match(problem.detail, message);
    }
    const deep = JSON.parse(await post(`${"[".repeat(1_900)}${"]".repeat(1_900)}`));
    assert.match(deep.result.content[0].text, /more than 65 levels/);
  });
});

describe("a service with keys", () => {
  let guarded: Listening;
  before(async () => {
    guarded = await listen({ auth: "keys" });
  });
  after(() => guarded.close());

  test("refuses a request without a key", async () => {
    await assert.rejects(connect("legacy", guarded));
    await assert.rejects(connect("legacy", guarded, "mucast_0_0"));
  });

  test("lets a key with the scope read only read", async () => {
    const { token } = await guarded.keys.create("reader", ["read"]);
    const client = await connect("legacy", guarded, token);
    assert.deepEqual((await call<OperationPage>(client, "list_operations")).value.operations, []);
    const problem = await refused(client, "run_ml_job", ML_PAYLOAD);
    assert.deepEqual([problem.code, problem.scope], ["forbidden", "write"]);
    await client.close();
  });

  test("shows a caller only its own operations", async () => {
    const [ann, ben] = await Promise.all(
      ["ann", "ben"].map(async (name) => {
        const { token } = await guarded.keys.create(name, ["read", "write"]);
        return connect("auto", guarded, token);
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
    const client = await connect("auto", own);
    const listening = await client.listen({ toolsListChanged: true });
    await own.close();
    assert.ok(listening);
    await client.close();
  });

  test("marks a temporary refusal of the service as one", async () => {
    const client = await connect("legacy");
    service.operations.failure = new MucastError("rate_limited", "1000 operations wait", { retryAfter: 30 });
    const problem = await refused(client, "run_ml_job", ML_PAYLOAD);
    assert.deepEqual([problem.code, problem.retryAfter], ["rate_limited", 30]);
    await client.close();
  });
});
