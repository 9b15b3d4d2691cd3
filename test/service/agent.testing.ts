/** `mucast mcp` as an agent's host runs it: the SDK's own client over stdio. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type ForecastView, forecastViewSchema } from "../../src/contract/api/forecast-view.ts";
import { type JobPreview, jobPreviewSchema } from "../../src/contract/api/job-preview.ts";
import {
  isEnded,
  type OperationView,
  operationSchema,
  type VerdictView,
  verdictViewSchema,
} from "../../src/contract/api/operation-view.ts";
import { until } from "../end-to-end/commands/command.ts";
import { ONE_JOB } from "./service.testing.ts";

export const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

const started = new Set<Agent>();

/** Ends those that a test has left. */
export async function endAgents(): Promise<void> {
  await Promise.all([...started].map((agent) => agent.close()));
}

export class Agent {
  readonly #client: Client;
  readonly #transport: StdioClientTransport;
  #said = "";

  private constructor(client: Client, transport: StdioClientTransport) {
    this.#client = client;
    this.#transport = transport;
    transport.stderr!.on("data", (text) => {
      this.#said += text;
    });
  }

  /** @param args of `mucast mcp`. */
  static async start(args: readonly string[], env: Record<string, string> = {}): Promise<Agent> {
    const inherited = ["PATH", "HOME", "MUCAST_PYTHON", "NODE_COMPILE_CACHE"].flatMap((name) =>
      process.env[name] === undefined ? [] : [[name, process.env[name]]],
    );
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [MAIN, "mcp", ...args],
      env: { ...Object.fromEntries(inherited), ...ONE_JOB, MUCAST_PORT: "0", ...env },
      stderr: "pipe",
    });
    const client = new Client({ name: "a test", version: "1" });
    const agent = new Agent(client, transport);
    started.add(agent);
    try {
      await client.connect(transport);
    } catch (error) {
      throw new Error(`mucast mcp did not start:\n${agent.#said}`, { cause: error });
    }
    return agent;
  }

  get pid(): number {
    return this.#transport.pid!;
  }

  /** All its output on stderr. */
  logs(): string {
    return this.#said;
  }

  async tools(): Promise<string[]> {
    return (await this.#client.listTools()).tools.map(({ name }) => name);
  }

  async call(name: string, args: Record<string, unknown>): Promise<OperationView> {
    return operationSchema.parse((await this.#ask(name, args)).structuredContent);
  }

  async preview(args: Record<string, unknown>): Promise<{ text: string; preview: JobPreview }> {
    const { text, structuredContent } = await this.#ask("validate_job", args);
    return { text, preview: jobPreviewSchema.parse(structuredContent) };
  }

  async forecast(args: Record<string, unknown>): Promise<ForecastView> {
    return forecastViewSchema.parse((await this.#ask("get_forecast", args)).structuredContent);
  }

  async verdict(id: string): Promise<VerdictView> {
    return verdictViewSchema.parse((await this.#ask("get_verdict", { id })).structuredContent);
  }

  async #ask(name: string, args: Record<string, unknown>) {
    const { structuredContent, isError, content } = await this.#client.callTool({ name, arguments: args });
    const [{ text }] = content as unknown as [{ text: string }];
    assert.notEqual(isError, true, text);
    return { text, structuredContent };
  }

  /** The problem with which a call is refused. */
  async refused(name: string, args: Record<string, unknown>): Promise<{ code: string; detail: string }> {
    const { isError, content } = await this.#client.callTool({ name, arguments: args });
    assert.equal(isError, true);
    return JSON.parse((content as unknown as [{ text: string }])[0].text);
  }

  ended(id: string): Promise<OperationView> {
    return until(async () => {
      const operation = await this.call("get_operation", { id });
      return isEnded(operation.status) ? operation : undefined;
    });
  }

  /** Closes its stdin and waits for its end. */
  async close(): Promise<void> {
    started.delete(this);
    await this.#client.close();
  }
}
