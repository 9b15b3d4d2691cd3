import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { createInterface } from "node:readline";
import { after, describe, test } from "node:test";
import { createProgram } from "../../src/cli/commands.ts";
import { FakeService, json, operation } from "../../src/client/fake-service.testing.ts";
import { API_OPERATIONS } from "../../src/contract/api/operations.ts";
import { MucastError } from "../../src/contract/errors/errors.ts";
import type { OutputBlob } from "../../src/contract/output/output-blob.ts";
import { Agent, endAgents, MAIN } from "./agent.testing.ts";
import { Api } from "./api.testing.ts";
import { payload, putInputs } from "./inputs.testing.ts";
import { endServices, startServe, untilFolderIsUnused } from "./service.testing.ts";

after(async () => {
  await endAgents();
  await endServices();
});

describe("an agent over stdio", { timeout: 600_000 }, () => {
  test("runs a job of the service that has the folder open; once that is gone, two agents start one for themselves, which ends with them", async () => {
    const serving = await startServe();
    await putInputs(new Api(serving.url), "one");
    const agent = await Agent.start(["--data-dir", serving.dataDir], { MUCAST_PORT: String(serving.port) });
    assert.deepEqual(await agent.tools(), Object.keys(API_OPERATIONS));
    const args = JSON.parse(payload(serving.url, "one"));
    const { text, preview } = await agent.preview({ ...args, config: JSON.stringify(args.config) });
    assert.match(
      text,
      /^The job would train ridge on 2 tickers, as of 2021-12-31, in about [\d.e-]+ s of processor time\./,
    );
    assert.deepEqual([preview.ticker_count, preview.tickers.length], [2, 2]);
    const misspelt = { ...args, config: { "ML params": { model: "rigde" } } };
    assert.equal((await agent.refused("validate_job", misspelt)).code, "unknown_model");
    const { id } = await agent.call("run_ml_job", { ...args, idempotency_key: "one" });
    const ended = await agent.ended(id);
    assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
    assert.equal((await new Api(serving.url).get(id)).status, "Succeeded");
    assert.equal((await agent.refused("get_operation", { id: "nothing" })).code, "not_found");
    const { mu } = (await (await fetch(ended.result!.output_url)).json()) as OutputBlob;
    const [first, ...others] = Object.keys(mu);
    const named = await agent.forecast({ id, tickers: [others[0], "no such", first] });
    assert.deepEqual(
      named.forecasts.map(({ ticker, mu }) => [ticker, mu]),
      [others[0]!, first!].map((ticker) => [ticker, mu[ticker]]),
    );
    assert.deepEqual([named.count, named.missing.length], [Object.keys(mu).length, 1]);
    const [largest] = (await agent.forecast({ id, limit: 1 })).forecasts;
    assert.equal(Math.abs(largest!.mu), Math.max(...Object.values<number>(mu).map(Math.abs)));
    assert.equal((await agent.refused("get_forecast", { id: "nothing" })).code, "not_found");
    const replayed = await agent.call("replay", { output_url: ended.result!.output_url });
    assert.equal((await agent.ended(replayed.id)).status, "Succeeded");
    assert.equal((await agent.verdict(replayed.id)).replay?.verdict, "identical");
    assert.equal((await agent.refused("get_forecast", { id: replayed.id })).code, "other_result");

    await serving.kill9();
    const [again, second] = await Promise.all([
      agent.call("run_ml_job", { ...args, idempotency_key: "one" }),
      Agent.start(["--data-dir", serving.dataDir]),
    ]);
    assert.equal(again.id, id, "its own service knows the operations of the one before");
    const further = await second.call("run_ml_job", JSON.parse(payload(addressIn(agent, second), "one")));
    assert.equal(
      (await agent.call("get_operation", { id: further.id })).id,
      further.id,
      "both use the same one, or share a folder",
    );
    const done = await agent.ended(further.id);
    assert.equal(done.status, "Succeeded", JSON.stringify(done.error));
    await Promise.all([agent.close(), second.close()]);
    await untilFolderIsUnused(serving.dataDir);
    assert.ok(!(await readdir(serving.dataDir)).includes("service.json"));
  });

  test("keeps the numbers of a config that is text, stdout clean, and the key of a service elsewhere secret", async () => {
    await using service = new FakeService(json(202, operation()));
    const url = await service.listen();
    const config =
      '{"ML params": {"model": "ridge", "model_params": {"alpha": 1.0, "x": 1152921504606846977}}}';
    const child = spawn(process.execPath, [MAIN, "mcp", "--url", url], {
      env: { ...process.env, MUCAST_API_KEY: "the key of the test" },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const hello =
      '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}';
    child.stdin.write(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":${hello}}\nno JSON\n[]\n`);
    const submit = (id: number, config: string) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"run_ml_job","arguments":${argumentsWith(config)}}}\n`;
    const argumentsWith = (config: string) =>
      `{"feature_url":"f","data_extractor_url":"d","config":${config},"more":1}`;
    child.stdin.write(`[${submit(4, config).trim()}]\n\uFEFF${submit(5, config)}`);
    child.stdin.write(submit(1, JSON.stringify(config)));
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    child.stdin.write(
      `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_operation","arguments":{"id":${deep}}}}\n`,
    );
    child.stdin.write(submit(3, config));
    const answers: string[] = [];
    while (answers.length < 4) answers.push((await lines.next()).value!);
    const told = answers.map((line) => JSON.parse(line)).map(({ jsonrpc, id }) => `${jsonrpc} ${id}`);
    assert.deepEqual(told.sort(), ["2.0 0", "2.0 1", "2.0 2", "2.0 3"]);
    child.stdin.end();
    const [exit] = await Promise.all([once(child, "exit"), assertEnd(lines)]);
    assert.deepEqual(exit, [0, null]);
    const bodies = service.requests.map(({ body }) => body).sort();
    const body = (config: string) =>
      `{"feature_url":"f","data_extractor_url":"d","more":1,"config":${config}}`;
    assert.deepEqual(bodies, [body(JSON.stringify(JSON.parse(config))), body(config)].sort());
    const [asked] = service.requests;
    assert.equal(asked!.headers.authorization, "Bearer the key of the test");
    assert.match(String(asked!.headers["idempotency-key"]), /^[0-9a-f-]{36}$/);
  });

  test("is not served if the URL is invalid, or a message has no end", async () => {
    for (const url of ["", "nonsense", "ftp://127.0.0.1"]) {
      await assert.rejects(createProgram().parseAsync(["node", "mucast", "mcp", "--url", url]), (error) => {
        assert.ok(error instanceof MucastError);
        assert.match(JSON.stringify([error.code, error.data]), /invalid_request.*--url/);
        return true;
      });
    }
    const words = [MAIN, "mcp", "--url", "http://127.0.0.1:9"];
    const endless = spawnSync(process.execPath, words, { input: "[".repeat(11 * 2 ** 20), encoding: "utf8" });
    assert.match(endless.stderr, /exceeded maximum size of 10485760 bytes/);
  });
});

async function assertEnd(lines: AsyncIterator<string>): Promise<void> {
  assert.deepEqual(await lines.next(), { done: true, value: undefined });
}

/** The address that the first service prints. */
function addressIn(...agents: readonly Agent[]): string {
  return /"address":"(http:[^"]+)"/.exec(agents.map((agent) => agent.logs()).join(""))![1]!;
}
