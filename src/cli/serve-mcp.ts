import { MucastClient } from "../client/index.ts";
import { invalidRequest, show } from "../contract/errors/faults.ts";
import { serveMcpOnStdio } from "../service/mcp/serve-stdio.ts";
import { loadSettings } from "../service/settings/load-settings.ts";
import { FolderService } from "./folder-service.ts";
import { remoteOperations } from "./remote-operations.ts";
import { untilSignal } from "./until-signal.ts";

export interface McpFlags {
  readonly url?: string;
  readonly dataDir?: string;
  readonly settings?: string;
}

/** Serves MCP over stdin and stdout until stdin ends or a signal comes. */
export async function serveMcp({ url, dataDir, settings }: McpFlags, env: NodeJS.ProcessEnv): Promise<void> {
  const onError = (error: unknown) =>
    process.stderr.write(
      `mucast mcp: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
  if (url !== undefined) checkUrl(url);
  const { stdin: input, stdout: output } = process;
  const apiKey = env.MUCAST_API_KEY || undefined;
  const folder =
    url === undefined ? new FolderService(loadSettings({ data_dir: dataDir, settings }, env)) : undefined;
  const find = async () => (await folder?.find()) ?? { address: url!, token: undefined };
  const connect = async () => {
    const { address, token } = await find();
    return clientOf(address, apiKey ?? token);
  };
  // Also while it ends: a host that loses patience sends a signal after it has closed stdin.
  await untilSignal(async (signal) => {
    try {
      // A folder that cannot be used is told at once, not at the first call.
      const { address } = await find();
      const parts = { operations: remoteOperations(connect), address, input, output, onError };
      await serveMcpOnStdio(parts, signal);
    } finally {
      input.destroy();
      await folder?.close();
    }
  });
}

function clientOf(baseUrl: string, apiKey: string | undefined): MucastClient {
  return new MucastClient({ baseUrl, ...(apiKey === undefined ? {} : { apiKey }) });
}

/** @throws MucastError invalid_request. */
function checkUrl(url: string): void {
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return;
  throw invalidRequest([{ path: "--url", message: `must be an http or https URL, got ${show(url)}` }]);
}
