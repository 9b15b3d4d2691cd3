import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import type { ToolOperations } from "./call-tool.ts";
import { serveMcpOnStdio } from "./serve-stdio.ts";

test("a message above the limit of the transport ends the service", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const errors: unknown[] = [];
  const ended = serveMcpOnStdio(
    {
      ...{ operations: {} as ToolOperations, address: "http://127.0.0.1:9", input, output },
      onError: (error) => errors.push(error),
    },
    new AbortController().signal,
  );
  input.write("[".repeat(11 * 2 ** 20));
  await ended;
  assert.match(String(errors), /exceeded maximum size of 10485760 bytes/);
});
