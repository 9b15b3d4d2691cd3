import assert from "node:assert/strict";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { FakeOperations } from "../operations/fake-operations.testing.ts";
import { serveMcpOnStdio } from "./serve-stdio.ts";

test("many messages at once are answered without a warning, however slowly the answers are read", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on("warning", onWarning);
  const [input, output] = [new PassThrough(), new PassThrough({ highWaterMark: 1 })];
  const ended = serveMcpOnStdio(
    {
      ...{ operations: new FakeOperations(), address: "http://127.0.0.1:9", input, output },
      onError: (error) => assert.fail(String(error)),
    },
    new AbortController().signal,
  );
  const count = 300;
  const hello = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  };
  const messages: object[] = [{ id: 0, method: "initialize", params: hello }];
  for (let id = 1; id <= count; id++) messages.push({ id, method: "ping" });
  input.write(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
  await once(output, "readable");
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  const ids = new Set<number>();
  for await (const line of createInterface({ input: output })) {
    ids.add(JSON.parse(line).id);
    if (ids.size > count) break;
  }
  input.end();
  await ended;
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []);
});

test("a message whose config as text is too long for the transport is refused, and the next one answered", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const ended = serveMcpOnStdio(
    {
      ...{ operations: new FakeOperations(), address: "http://127.0.0.1:9", input, output },
      onError: (error) => assert.fail(String(error)),
    },
    new AbortController().signal,
  );
  const config = { text: "\n".repeat(4_000_000) };
  const call = { id: 1, method: "tools/call", params: { name: "run_ml_job", arguments: { config } } };
  const hello = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  };
  for (const message of [call, { id: 2, method: "initialize", params: hello }])
    input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const lines: string[] = [];
  for await (const line of createInterface({ input: output })) {
    lines.push(line);
    if (lines.length === 2) break;
  }
  input.end();
  await ended;
  const answers = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    answers.map(({ id, error }) => [id, error?.message]),
    [
      [1, "a message is longer than 10 MB; put large data where a URL can name it"],
      [2, undefined],
    ],
  );
});
