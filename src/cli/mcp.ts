import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import type { Command } from "commander";
import { MucastApiError, MucastClient } from "../client/index.ts";
import type { SubmittedOperation } from "../contract/config/job-operations.ts";
import { ERROR_TABLE, type ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import { exposesCredentials } from "../contract/tracker-url.ts";
import type { ToolOperations } from "../service/mcp/tools.ts";
import type { RunningService } from "../service/service.ts";
import { type AnnouncedService, readAnnounced } from "../service/service-address.ts";
import type { ServiceSettings } from "../service/settings/load-settings.ts";
import { addCommand, type FlagsOf, refusal, SETTINGS_OPTIONS } from "./command.ts";
import { untilSignal } from "./terminal/signals.ts";

const OPTIONS = {
  url: ["--url <url>", "URL of a remote service; the key comes from MUCAST_API_KEY"],
  ...SETTINGS_OPTIONS,
} as const;

/** Adds `mucast mcp`. The server's modules are loaded only by this command. */
export function addMcp(program: Command): void {
  addCommand(program, "mcp", {
    about: "offer the jobs to an agent as MCP tools over stdin and stdout",
    options: OPTIONS,
    help: HELP,
    run: serveMcp,
  });
}

const HELP = `
Examples:
  mucast mcp
  MUCAST_API_KEY=mucast_… mucast mcp --url https://forecasts.example.com

Without --url, it connects to the service that runs on the data folder. If there is none, it starts one, for this machine only,
that ends when stdin closes; the next start runs unfinished jobs again. For long jobs, keep \`mucast serve\` running.

stdout carries only the protocol; stderr carries the log. docs/http.md shows how to configure an MCP client.`;

/** Serves MCP over stdin and stdout until stdin ends or a signal comes. */
async function serveMcp({ url, ...flags }: FlagsOf<typeof OPTIONS>): Promise<void> {
  const { serveMcpOnStdio } = await import("../service/mcp/mcp-server.ts");
  const { loadSettings } = await import("../service/settings/load-settings.ts");
  const onError = (error: unknown) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`mucast mcp: ${text}\n`);
  };
  const key = process.env.MUCAST_API_KEY || undefined;
  if (url !== undefined) checkUrl(url, key !== undefined);
  const { stdin: input, stdout: output } = process;
  const folder = url === undefined ? new FolderService(loadSettings(flags, process.env)) : undefined;
  const find = async () => (await folder?.find()) ?? { address: url!, token: undefined };
  const connect = async () => {
    const { address, token } = await find();
    const apiKey = key ?? token;
    return new MucastClient({ baseUrl: address, ...(apiKey === undefined ? {} : { apiKey }) });
  };
  // Also during shutdown: an impatient host sends a signal after it has closed stdin.
  await untilSignal(async (signal) => {
    try {
      // An unusable folder is an error at startup, not at the first call.
      const { address } = await find();
      const parts = { operations: remoteOperations(connect), address, input, output, onError };
      await serveMcpOnStdio(parts, signal);
    } finally {
      input.destroy();
      await folder?.close();
    }
  });
}

function checkUrl(url: string, hasKey: boolean): void {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw refusal("--url", `must be an http or https URL, got ${show(url)}`);
  }
  if (!hasKey || !exposesCredentials(url)) return;
  const message = "must begin with https://, because MUCAST_API_KEY would cross the network in clear text";
  throw refusal("--url", message);
}

const ANSWER_MILLISECONDS = 5_000;

/**
 * The service of a data folder: one that has announced itself there and answers, or else one that this process starts, reachable only
 * from this machine. Services on one folder share its jobs.
 */
export class FolderService {
  readonly #settings: ServiceSettings;
  #own: Promise<RunningService> | undefined;

  constructor(settings: ServiceSettings) {
    this.#settings = settings;
  }

  /** Its current address: the process of an earlier call may have ended. */
  async find(): Promise<AnnouncedService> {
    if (this.#own === undefined && this.#settings.database_url === undefined) {
      const announced = readAnnounced(this.#settings.data_dir);
      if (announced !== undefined && (await doesAnswer(announced))) return announced;
    }
    this.#own ??= this.#start();
    try {
      return await this.#own;
    } catch (error) {
      this.#own = undefined;
      throw error;
    }
  }

  async #start(): Promise<RunningService> {
    const { startService } = await import("../service/service.ts");
    const wanted = this.#settings.port;
    // That port if it is free, so that the URLs of blobs stay the same.
    const port = await new Promise<number>((resolve) => {
      const server = createServer().once("error", () => resolve(0));
      server.listen(wanted, "127.0.0.1", () => server.close(() => resolve(wanted)));
    });
    return startService({ ...this.#settings, host: "127.0.0.1", port, drain_seconds: 0 });
  }

  /** Closes the service if this process started it. It releases its running jobs for the next start. */
  async close(): Promise<void> {
    await (await this.#own)?.close();
  }
}

/** Whether a service accepts that token at that address; another program may have the address by now. */
async function doesAnswer({ address, token }: AnnouncedService): Promise<boolean> {
  try {
    const headers = { authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(ANSWER_MILLISECONDS);
    const answer = await fetch(`${address}/admin/keys`, { headers, signal });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return false;
  }
}

/** The method of the client that submits each operation. */
const SUBMITS = {
  run_ml_job: "runMlJob",
  run_dl_job: "runDlJob",
  audit: "audit",
  replay: "replay",
} as const satisfies Record<SubmittedOperation, keyof MucastClient>;

/**
 * The operations of a service in another process, for MCP tools. The client's credentials say who the caller is.
 *
 * @param connect returns the client to use now.
 */
export function remoteOperations(connect: () => Promise<MucastClient>): ToolOperations {
  const call = async <T>(use: (client: MucastClient) => Promise<T>): Promise<T> => {
    const client = await connect();
    try {
      return await use(client);
    } catch (error) {
      throw asMucastError(error);
    }
  };
  return {
    submit: async (_caller, { operation, payload, idempotencyKey = randomUUID() }) => ({
      operation: await call((client) => client[SUBMITS[operation]](payload, { idempotencyKey })),
    }),
    validate: (_caller, { payload }, signal) => call((client) => client.validate(payload, { signal })),
    get: (_caller, id) => call((client) => client.getOperation(id)),
    forecast: (_caller, { id, ...query }) => call((client) => client.getForecast(id, query)),
    verdict: (_caller, id) => call((client) => client.getVerdict(id)),
    list: (_caller, query) => call((client) => client.listOperations(query)),
    cancel: (_caller, id) => call((client) => client.cancelOperation(id)),
  };
}

/** The error that the service answered with; a code that only a newer service knows becomes a known one of the same severity. */
function asMucastError(error: unknown): unknown {
  if (error instanceof MucastApiError) {
    const { code, detail, type: _, title: __, ...data } = error.problem;
    const otherwise = error.status < 500 ? "invalid_request" : "unavailable";
    const known = Object.hasOwn(ERROR_TABLE, code) ? (code as ErrorCode) : otherwise;
    return new MucastError(known, detail, data);
  }
  if (!(error instanceof TypeError)) return error;
  const { cause } = error as { cause?: { code?: string; message?: string } };
  const reason = cause?.code ?? cause?.message ?? error.message;
  return new MucastError("unavailable", `the service does not answer (${reason})`, {}, { cause: error });
}
