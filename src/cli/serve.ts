import type { Command } from "commander";

/** Adds `mucast serve`. The service and its database are loaded only by this command. */
export function addServe(program: Command): void {
  program
    .command("serve")
    .description("Runs jobs for callers over HTTP and MCP, until it is stopped.")
    .option("--host <address>", "address to listen on [env: MUCAST_HOST]")
    .option("--port <number>", "port to listen on; 0 takes a free one [env: MUCAST_PORT]")
    .option("--data-dir <folder>", "database and blobs [env: MUCAST_DATA_DIR]")
    .option("--public-url <url>", "how callers reach it [env: MUCAST_PUBLIC_URL]")
    .option("--settings <file>", "settings as JSON; see docs/configuration.md [env: MUCAST_SETTINGS]")
    .addHelpText("after", HELP)
    .action(async (flags: ServeFlags) => {
      const { serve } = await import("./serve-until-signal.ts");
      await serve({
        host: flags.host,
        port: flags.port,
        data_dir: flags.dataDir,
        public_url: flags.publicUrl,
        settings: flags.settings,
      });
    });
}

interface ServeFlags {
  readonly host?: string;
  readonly port?: string;
  readonly dataDir?: string;
  readonly publicUrl?: string;
  readonly settings?: string;
}

const HELP = `
Without any flag it listens on http://127.0.0.1:8080 for this machine alone, with an embedded database and a folder of
blobs in the user's data folder. SIGTERM, SIGINT and a closed terminal let running jobs finish for drain_seconds and hand
the rest back to the queue, where the next start finds it; another signal, a second later, ends it at once. Without a
terminal on stdin, stdout or stderr, as under nohup, SIGHUP is passed over.

stdout carries its address and how to use it; stderr its log, one JSON object a line.`;
