import type { Command } from "commander";
import { show } from "../contract/errors/faults.ts";
import { exposesCredentials } from "../contract/tracker-url.ts";
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

stdout carries only the protocol; stderr carries the log. docs/mcp.md shows how to configure an MCP client.`;

/** Serves MCP over stdin and stdout until stdin ends or a signal comes. */
async function serveMcp({ url, ...flags }: FlagsOf<typeof OPTIONS>): Promise<void> {
  const [{ FolderService, remoteOperations }, { serveMcpOnStdio }, { loadSettings }, { MucastClient }] =
    await Promise.all([
      import("./folder-service.ts"),
      import("../service/mcp/mcp-server.ts"),
      import("../service/settings/load-settings.ts"),
      import("../client/index.ts"),
    ]);
  const onError = (error: unknown) =>
    process.stderr.write(
      `mucast mcp: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
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
