import { sep } from "node:path";
import type { Command } from "commander";
import { quoted } from "../contract/curl-line.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { printable } from "../contract/errors/wording.ts";
import { findEnvironment, SETUP_COMMANDS, type UserEnvironment } from "../engine/environment/environment.ts";
import type { ServiceSettings, SettingFlags } from "../service/settings/load-settings.ts";
import { addCommand, ENGINE_OPTIONS, SETTINGS_OPTIONS } from "./command.ts";
import { onEndSignal } from "./terminal/signals.ts";

/** Each sets the setting of its key, and a flag without a value sets `true`; `settings` names the settings file. */
const OPTIONS = {
  host: ["--host <address>", "address to listen on [env: MUCAST_HOST]"],
  port: ["--port <number>", "port to listen on; 0 picks a free port [env: MUCAST_PORT]"],
  data_dir: SETTINGS_OPTIONS.data_dir,
  public_url: ["--public-url <url>", "URL by which callers reach the service [env: MUCAST_PUBLIC_URL]"],
  engine: ["--engine <url>", "Ray cluster to run jobs on [env: MUCAST_ENGINE_URL]"],
  engine_insecure: ENGINE_OPTIONS.engine_insecure,
  settings: SETTINGS_OPTIONS.settings,
} as const;

/** Adds `mucast serve`. The service and its database are loaded only by this command. */
export function addServe(program: Command): void {
  addCommand(program, "serve", {
    about: "run jobs for callers over HTTP and MCP until stopped",
    options: OPTIONS,
    help: HELP,
    run: ({ engine_insecure, ...flags }) => serve({ ...flags, engine_insecure: engine_insecure?.toString() }),
  });
}

const HELP = `
Without flags, it listens on http://127.0.0.1:8080 for this machine only, with an embedded database and a folder of blobs in
the user's data folder. On SIGTERM, SIGINT or a closed terminal, running jobs have drain_seconds to finish; the rest return to
the queue for the next start. Another signal, a second or more later, ends it at once. Without a terminal on stdin, stdout or
stderr, as under nohup, SIGHUP is ignored.

stdout carries the address of the service, its data folder and how to use it; stderr carries the log, one JSON object per line.`;

const CLOSING_SECONDS = 30;

/** Runs a service until a signal, then ends the process. Another signal, a second or more later, ends it at once. */
async function serve(flags: SettingFlags): Promise<void> {
  const { loadSettings } = await import("../service/settings/load-settings.ts");
  const settings = loadSettings(flags, process.env);
  const { startService } = await import("../service/service.ts");
  // Listens from the start: a service that is still opening ends as soon as it is open.
  const stopped = new Promise<NodeJS.Signals>(onEndSignal);
  // The service continues even if its address cannot be written: a full disk, a reader that is gone.
  process.stdout.on("error", () => undefined);
  const service = await startService(settings);
  const address = settings.public_url?.replace(/\/+$/, "") ?? service.address;
  process.stdout.write(await welcome(address, settings));
  await stopped;
  // A hanging database connection would keep the process alive. Its jobs are then recovered, as after a kill.
  setTimeout(
    () => {
      process.stderr.write("mucast: could not close everything in time\n");
      process.exit(1);
    },
    (settings.drain_seconds + CLOSING_SECONDS) * 1_000,
  );
  await service.close();
  // Third-party clients, such as the one for traces, may keep the process alive with their timers.
  process.exit(0);
}

/** Whether the executor runs jobs on this machine, which then needs the Python environment. */
const RUNS_HERE: Record<ServiceSettings["executor"], boolean> = { process: true, "container-apps": false };

/** The Python environment without which jobs fail, if this machine runs them and lacks it. */
function missingEnvironment({ executor, engine }: ServiceSettings): UserEnvironment | undefined {
  if (!RUNS_HERE[executor]) return undefined;
  const needed = engine === undefined ? "ml" : "ray";
  try {
    findEnvironment(needed);
    return undefined;
  } catch (error) {
    if (error instanceof MucastError) return needed;
    throw error;
  }
}

const WAIT_SECONDS = 60;

/** How this process was started: `npm run mucast` in a checkout, which may have no `mucast` command. */
const COMMAND = process.env.npm_lifecycle_event === "mucast" ? "npm run --silent mucast --" : "mucast";

/** The address, the data folder, what is needed first, and lines of curl that run a job on the example blobs. */
async function welcome(address: string, settings: ServiceSettings): Promise<string> {
  const { submitLine, uploadLines } = await import("../service/http/document-routes.ts");
  const { auth, oidc_issuer, database_url, data_dir, blob_url } = settings;
  const asking = { origin: address, hasKey: auth !== "none" };
  const curl = [...uploadLines(asking), submitLine(asking, WAIT_SECONDS)].join("\n");
  const parts = [`mucast listens on ${address}`];
  if (database_url === undefined || blob_url.startsWith(`${data_dir}${sep}`))
    parts[0] += `\nIts data folder is ${printable(data_dir)}`;
  if (auth === "oidc")
    parts.push(`The commands below read an access token of ${oidc_issuer} from MUCAST_API_KEY.`);
  if (auth === "keys") {
    const create = `${COMMAND} keys create --name me`;
    const dataDir = database_url === undefined ? ` --data-dir ${quoted(data_dir)}` : "";
    parts.push("The commands below read an API key from MUCAST_API_KEY. Create one with:");
    parts.push(`  export MUCAST_API_KEY=$(${create}${dataDir})`);
  }
  const missing = missingEnvironment(settings);
  if (missing !== undefined) {
    const command = `\`${SETUP_COMMANDS[missing]}\``;
    parts.push(`There is no Python environment, so jobs will fail. Install it with ${command}.`);
  }
  parts.push("Run a job on the example blobs:", curl.replaceAll(/^/gm, "  "));
  const pages = { console: "/", docs: "/docs", OpenAPI: "/openapi.json", MCP: "/mcp" };
  const links = Object.entries(pages).map(([name, path]) => `  ${name.padEnd(7)}  ${address}${path}\n`);
  return `${parts.join("\n\n")}\n\n${links.join("")}`;
}
