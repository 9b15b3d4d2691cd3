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

test("a message above the limit of the transport ends the service", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const errors: unknown[] = [];
  const ended = serveMcpOnStdio(
    {
      ...{ operations: new FakeOperations(), address: "http://127.0.0.1:9", input, output },
      onError: (error) => errors.push(error),
    },
    new AbortController().signal,
  );
  input.write("[".repeat(11 * 2 ** 20));
  await ended;
  assert.match(String(errors), /exceeded maximum size of 10485760 bytes/);
});
