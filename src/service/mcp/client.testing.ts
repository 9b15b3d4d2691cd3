/** The MCP SDK's client, connected to the HTTP part of a service. */
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { OperationView } from "../../contract/api/operation-view.ts";
import type { Problem } from "../../contract/problems/problem.ts";
import type { Listening } from "../http/listening.testing.ts";

/** The answer of a tool. */
interface Answer<T> {
  readonly isError: boolean;
  readonly text: string;
  readonly value: T;
}

/** Connects to the MCP endpoint of a service. @param mode which revision the client speaks: `legacy` has an `initialize`, `auto` has none. */
export async function connect(at: Listening, mode: "legacy" | "auto", key?: string): Promise<Client> {
  const client = new Client({ name: "a test", version: "1" }, { versionNegotiation: { mode } });
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${at.origin}/mcp`), { requestInit: { headers } }),
  );
  return client;
}

export async function call<T = OperationView>(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Answer<T>> {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
  const [{ text }] = content as unknown as [{ text: string }];
  return { isError: isError === true, text, value: structuredContent as T };
}

/** @returns the problem of a tool call that must fail. */
export async function refused(client: Client, name: string, args: Record<string, unknown>): Promise<Problem> {
  const { isError, text, value } = await call(client, name, args);
  assert.equal(isError, true, text);
  assert.equal(value, undefined);
  return JSON.parse(text);
}
