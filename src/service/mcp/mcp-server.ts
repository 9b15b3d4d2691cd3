import { McpServer } from "@modelcontextprotocol/server";
import type { ApiOperationName } from "../../contract/api/operations.ts";
import { MUCAST_VERSION } from "../../contract/version.ts";
import type { Caller } from "../auth/caller.ts";
import { callTool, type ToolOperations } from "./call-tool.ts";
import { toolError, toolResult } from "./tool-result.ts";
import { TOOLS, type ToolDefinition } from "./tools.ts";

export interface McpServerParts {
  readonly operations: ToolOperations;
  readonly caller: Caller;
  /** Address of the service for its callers. */
  readonly address: string;
  /** W3C trace context of the request. */
  readonly traceparent?: string | undefined;
  /** Called for a defect, with the id that its problem names. */
  readonly onDefect: (error: unknown, id: unknown) => void;
}

/** Makes an MCP server for one caller, with a tool for each operation of the API. */
export function mcpServer({ operations, caller, address, traceparent, onDefect }: McpServerParts): McpServer {
  const server = new McpServer(
    { name: "mucast", title: "mucast", version: MUCAST_VERSION },
    { instructions: instructions(address), capabilities: { tools: { listChanged: false } } },
  );
  // The SDK finds a tool by its name as a member of an object, which inherits members such as `__proto__`.
  // biome-ignore lint/complexity/useLiteralKeys: the compiler allows a private member in brackets only
  Object.setPrototypeOf(server["_registeredTools"], null);
  for (const [name, tool] of Object.entries(TOOLS) as [ApiOperationName, ToolDefinition][]) {
    server.registerTool(name, tool, async (args, { mcpReq: { signal } }) => {
      try {
        return toolResult(
          await callTool(operations, { name, args, caller, traceparent, origin: address, signal }),
        );
      } catch (error) {
        return toolError(error, onDefect);
      }
    });
  }
  return server;
}

/**
 * The instructions of the server for an agent.
 * @param address of the service for its callers.
 */
function instructions(address: string): string {
  return `mucast trains forecasts of next-day log-returns (mu) of stock tickers, for a portfolio optimizer.

How to run a job:
1. Two input blobs must be stored: a feature blob, feature_engine_<id>.json, and a price blob, data_extractor_<id>.json (or both as .parquet). You name them by URL. People upload them with PUT ${address}/data/<name>, which answers with the URL, or use a storage that its operator has allowed; no tool here does it, so ask for the URLs where you do not know them.
2. Call run_ml_job for classical regressors or run_dl_job for neural networks. Start with a small config, such as {"ML params": {"model": "ridge"}} or {"NN params": {"Dot prediction": {"current option": "lstm"}}}; everything left out has a default. Give an idempotency_key, and repeat the call with the same key if its answer is lost.
3. The answer is an operation. Call get_operation with its id every few seconds until status is Succeeded, Failed or Canceled. Jobs take seconds to hours; progress says how far they are. Do not submit the job again while it is NotStarted or Running.
4. Succeeded: result.output_url is the output blob, whose "mu" maps each ticker to its forecast; give that URL to the optimizer. get_forecast tells you mu, metrics, coverage and shrinkage (the share of the forecasts that their past supports) of the tickers you name, or of the largest |mu|. Read warnings first: they say which tickers are missing or stale. Failed: error has code, detail and advice; correct what it names before submitting again.

How to prove a result:
- replay with the output_url of a job runs that job again and compares the bytes: identical, differs or cannot_replay, with the reason.
- audit with the payload of a job checks the features and the job for look-ahead and returns clean or found, with each finding and what to do. It costs several jobs; checks, truncations and quick make it cheaper.
Both are operations too. get_verdict gives the verdict of one that is Succeeded; findings and differences make no operation fail.

An error of a tool is a problem as JSON: code, detail, advice, and for invalid input faults, a list with the path and the message of every fault, so that all can be corrected at once. rate_limited and unavailable pass: try again after a while. Forecasts of daily returns are noisy by nature; compare with the baselines in the output before relying on them.`;
}
