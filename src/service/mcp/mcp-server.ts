import { addAbortListener } from "node:events";
import type { Readable, Writable } from "node:stream";
import { createMcpHandler, INVALID_REQUEST, McpServer, PARSE_ERROR } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { hasMoreValues } from "../../contract/json/bounded-json.ts";
import { MUCAST_VERSION } from "../../contract/version.ts";
import type { Caller } from "../auth/caller.ts";
import { bodyText, type HttpApp, type HttpOptions } from "../http/http-app.ts";
import { toolError, toolResult } from "./tool-result.ts";
import { callTool, TOOLS, type ToolContext } from "./tools.ts";

function makeServer(context: ToolContext, onDefect: (error: unknown, id: unknown) => void): McpServer {
  const server = new McpServer(
    { name: "mucast", title: "mucast", version: MUCAST_VERSION },
    { instructions: instructions(context.address), capabilities: { tools: { listChanged: false } } },
  );
  for (const { name, ...tool } of TOOLS) {
    server.registerTool(name, tool, async (args, { mcpReq: { signal } }) => {
      try {
        return toolResult(await callTool(context, name, args, signal));
      } catch (error) {
        return toolError(error, onDefect);
      }
    });
  }
  return server;
}

/** More than a call needs. The SDK checks each of them several times, which takes time of the event loop. */
const MAX_VALUES = 2_000;
const TOO_MANY = `the message has more than ${MAX_VALUES} values; send a large config as JSON text`;

type McpParts = Pick<HttpOptions, "operations" | "log">;

/** `POST /mcp`: streamable HTTP without sessions, so that any service on the database can answer. Each tool needs its own scope. */
export function registerMcp(app: HttpApp, { operations, log }: McpParts): void {
  const handler = createMcpHandler(
    ({ authInfo }) =>
      makeServer({ operations, ...(authInfo!.extra as Omit<ToolContext, "operations">) }, (err, defect_id) =>
        log.error({ defect_id, err }, "a tool failed because of a defect"),
      ),
    { onerror: (err) => log.warn({ err }, "an MCP request was refused") },
  );
  void app.register(async (group) => {
    group.post("/mcp", { config: { access: "read" }, schema: { hide: true } }, async (request, reply) => {
      const refuse = (code: number, message: string) =>
        reply.code(400).send({ jsonrpc: "2.0", id: null, error: { code, message } });
      let message: unknown;
      try {
        message = JSON.parse(bodyText(request));
      } catch {
        return refuse(PARSE_ERROR, "the message is not JSON in UTF-8");
      }
      if (hasMoreValues(message, MAX_VALUES)) return refuse(INVALID_REQUEST, TOO_MANY);
      // Before any message of a batch is run; the request itself has counted as one.
      for (const _ of Array.isArray(message) ? message.slice(1) : []) await app.countMessage(request);
      const { caller, traceparent, publicOrigin: address, headers, url } = request;
      const authInfo = {
        token: "",
        clientId: caller!.subject,
        scopes: [...caller!.scopes],
        extra: { caller, address, traceparent },
      };
      // Without the body: the SDK, which parses JSON by its own rules, gets only the message.
      const sent = {
        method: "POST",
        headers: headers as Record<string, string>,
        signal: reply.abortSignal(),
      };
      const forwarded = new Request(`http://127.0.0.1${url}`, sent);
      const response = await handler.fetch(forwarded, { authInfo, parsedBody: message });
      // The SDK's headers would replace those of the service, and keep a connection open that the client asked to close.
      response.headers.delete("connection");
      response.headers.set("cache-control", "no-store");
      return reply.send(response);
    });
  });
}

interface StdioParts extends Pick<ToolContext, "operations" | "address"> {
  readonly input: Readable;
  readonly output: Writable;
  readonly onError: (error: unknown) => void;
}

/** The user who started this process. The service decides what that user may do. */
const PARENT: Caller = { subject: "local", scopes: new Set(["read", "write"]) };

/** Serves the tools over stdio until `input` ends, a message exceeds the 10 MiB of the SDK's transport, or `signal` aborts. */
export async function serveMcpOnStdio(
  { operations, address, input, output, onError }: StdioParts,
  signal: AbortSignal,
): Promise<void> {
  // The SDK adds a drain listener for each answer that waits.
  output.setMaxListeners(0);
  const transport = new StdioServerTransport(input, output);
  const context = { operations, caller: PARENT, address };
  const served = serveStdio(() => makeServer(context, onError), { transport, onerror: onError });
  await new Promise<void>((resolve) => {
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
    addAbortListener(signal, () => resolve());
  });
  await served.close();
}

function instructions(address: string): string {
  return `mucast trains forecasts of next-day log-returns (mu) of stock tickers, for a portfolio optimizer.

How to run a job:
1. Two input blobs must be stored: a feature blob, feature_engine_<id>.json, and a price blob, data_extractor_<id>.json (or both as .parquet). You name them by URL. People upload them with PUT ${address}/data/<name>, which answers with the URL, or use a storage that its operator has allowed; no tool here does it, so ask for the URLs where you do not know them.
2. Call run_ml_job for classical regressors or run_dl_job for neural networks. Start with a small config, such as {"ML params": {"model": "ridge"}} or {"NN params": {"Dot prediction": {"current option": "lstm"}}}; everything left out has a default. validate_job takes the same payload and says what the job would do, without running it. Give an idempotency_key, and repeat the call with the same key if its answer is lost.
3. The answer is an operation. Call get_operation with its id every few seconds until status is Succeeded, Failed or Canceled. Jobs take seconds to hours; progress says how far they are. Do not submit the job again while it is NotStarted or Running.
4. Succeeded: result.output_url is the output blob, whose "mu" maps each ticker to its forecast; give that URL to the optimizer. get_forecast tells you mu, metrics, coverage and shrinkage (the share of the forecasts that their past supports) of the tickers you name, or of the largest |mu|. Read warnings first: they say which tickers are missing or stale. Failed: error has code, detail and advice; correct what it names before submitting again.

How to prove a result:
- replay with the output_url of a job runs that job again and compares the bytes: identical, differs or cannot_replay, with the reason.
- audit with the payload of a job checks the features and the job for look-ahead and returns clean or found, with each finding and what to do. It costs several jobs; checks, truncations and quick make it cheaper.
Both are operations too. get_verdict gives the verdict of one that is Succeeded; findings and differences make no operation fail.

An error of a tool is a problem as JSON: code, detail, advice, and for invalid input faults, a list with the path and the message of every fault, so that all can be corrected at once. rate_limited and unavailable pass: try again after a while. Forecasts of daily returns are noisy by nature; compare with the baselines in the output before relying on them.`;
}
