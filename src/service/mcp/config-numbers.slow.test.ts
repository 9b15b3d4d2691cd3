import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Problem } from "../../contract/problems/problem.ts";
import { ML_PAYLOAD } from "../http/examples.ts";
import { ask, type Listening, listen } from "../http/listening.testing.ts";

let service: Listening;

before(async () => {
  service = await listen();
});
after(() => service.close());

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
