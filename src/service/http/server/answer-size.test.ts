import assert from "node:assert/strict";
import { test } from "node:test";
import fastify from "fastify";
import { z } from "zod";
import type { OperationPage } from "../../../contract/api/operation-view.ts";
import { SIZES } from "../../../contract/schema/answer-limits.ts";
import { toolResult } from "../../mcp/tool-result.ts";
import { withZod } from "./http-app.ts";

const HUGE = { next_cursor: "x".repeat(4_000_000) };

test("no route answers with 4 MB of JSON, with or without a schema of its answer, in a group or not", async () => {
  assert.ok(SIZES.answer + SIZES.toolText < 4_000_000);
  const app = withZod(fastify());
  app.get("/bare", async () => HUGE);
  app.get("/list", async () => [HUGE]);
  void app.register(async (group) => {
    group.get("/group", { schema: { response: { 200: z.any() } } }, async () => HUGE);
    group.get("/sent", async (_request, reply) => reply.send(HUGE));
    group.get("/small", async () => ({ a: 1 }));
  });
  for (const path of ["/bare", "/list", "/group", "/sent"]) {
    const { statusCode, body } = await app.inject(path);
    assert.deepEqual([statusCode, body.length < 1_000], [500, true], path);
  }
  assert.equal((await app.inject("/small")).body, '{"a":1}');
  await app.close();
});

test("no tool answers with 4 MB of JSON, and its text is shorter", () => {
  const page: OperationPage = { operations: [], next_cursor: null };
  assert.throws(() => toolResult({ ...page, ...HUGE }), /is larger than 3670016/);
  const long = toolResult({ ...page, next_cursor: "x".repeat(SIZES.toolText) });
  const [{ text }] = long.content as unknown as [{ text: string }];
  assert.ok(JSON.stringify(text).length <= SIZES.toolText && text.endsWith("…"));
});
