import assert from "node:assert/strict";
import { type RequestOptions, request as sendRequest } from "node:http";
import { test } from "node:test";
import type { OperationPage } from "../../contract/api/operation-view.ts";
import { StatementQueue } from "../database/statement-queue.ts";
import { inScope } from "../request-scope.ts";
import { ask, eventually, listenFor } from "./listening.testing.ts";

const LIST = { path: "/v1/operations" } as const;
const NONE: OperationPage = { operations: [], next_cursor: null };
const MCP = {
  method: "POST",
  path: "/mcp",
  headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
} as const;
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const MODERN = {
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "list_operations",
};

/** The ways by which a request reaches the database. */
const DOORS: Readonly<Record<string, readonly [RequestOptions, string?]>> = {
  "a GET": [LIST],
  "a tool call in the revision with initialize": [MCP, call({})],
  "a tool call in the revision without": [
    { ...MCP, headers: { ...MCP.headers, ...MODERN } },
    call({ _meta: META }),
  ],
};

function call(members: object): string {
  const params = { name: "list_operations", arguments: {}, ...members };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
}

for (const [door, [options, body]] of Object.entries(DOORS)) {
  test(`a waiting statement of ${door} never starts once the connection has closed`, async (t) => {
    const { port, operations, logged } = await listenFor(t);
    const queue = new StatementQueue({ atOnce: 1 });
    const free = Promise.withResolvers<void>();
    const blocking = queue.run(() => free.promise);
    const outcomes: string[] = [];
    let begun = 0;
    t.mock.method(operations, "list", () => {
      const listing = queue.run(async () => {
        begun += 1;
        return NONE;
      });
      outcomes.push("waits");
      listing.catch(({ code }) => outcomes.push(code));
      return listing;
    });
    const sent = sendRequest({ host: "127.0.0.1", port, agent: false, ...options });
    sent.on("error", () => undefined);
    sent.end(body);
    await eventually(() => outcomes.length === 1);
    sent.destroy();
    await eventually(() => outcomes.length === 2);
    free.resolve();
    await blocking;
    assert.equal((await ask(port, options, body)).status, 200);
    assert.deepEqual([outcomes, begun], [["waits", "canceled", "waits"], 1]);
    assert.deepEqual(
      logged.filter((line) => line.includes("defect")),
      [],
    );
  });

  test(`${door} waits for its turn among those of other callers`, async (t) => {
    const { port, operations, keys } = await listenFor(t, { auth: "keys" });
    const { token } = await keys.create("ben", ["read"]);
    const queue = new StatementQueue({ atOnce: 1 });
    const free = Promise.withResolvers<void>();
    const blocking = queue.run(() => free.promise);
    const seen: string[] = [];
    const many = Array.from({ length: 500 }, () =>
      inScope({ lane: "another caller", signal: undefined }, () => queue.run(async () => seen.push("other"))),
    );
    const services = Array.from({ length: 500 }, () => queue.run(async () => seen.push("service")));
    t.mock.method(operations, "list", () => {
      const listing = queue.run(async () => {
        seen.push("own");
        return NONE;
      });
      free.resolve();
      return listing;
    });
    const headers = { ...options.headers, authorization: `Bearer ${token}` };
    assert.equal((await ask(port, { ...options, headers }, body)).status, 200);
    await Promise.all([blocking, ...many, ...services]);
    assert.deepEqual([seen.slice(0, 3), seen.length], [["other", "service", "own"], 1_001]);
  });
}
