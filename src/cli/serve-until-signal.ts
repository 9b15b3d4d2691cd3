import { once } from "node:events";
import { startService } from "../service/service.ts";
import { loadSettings, type SettingFlags } from "../service/settings/load-settings.ts";

const CLOSING_SECONDS = 30;

/** Runs a service until SIGTERM or SIGINT, then ends the process; a second signal ends it at once. */
export async function serve(flags: SettingFlags): Promise<void> {
  const settings = loadSettings(flags, process.env);
  const stopped = untilStopped();
  const service = await startService(settings);
  const address = settings.public_url?.replace(/\/+$/, "") ?? service.address;
  process.stdout.write(
    welcome(address, settings.auth === "none" ? "" : '-H "Authorization: Bearer $MUCAST_KEY" '),
  );
  await stopped;
  process.once("SIGTERM", endAtOnce).once("SIGINT", endAtOnce);
  endInTime((settings.drain_seconds + CLOSING_SECONDS) * 1_000);
  await service.close();
  // Clients of others' services, such as that of traces, may hold the process with timers of their own.
  process.exit(0);
}

/** A database that went without a word would keep the process; what runs is taken over then, as after a kill. */
function endInTime(milliseconds: number): void {
  setTimeout(() => {
    process.stderr.write("mucast: not everything could be closed in time\n");
    process.exit(1);
  }, milliseconds);
}

/** Heard from the start on: a service that is still opening ends as soon as it is open. */
async function untilStopped(): Promise<void> {
  await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
}

/** What runs is taken over by the next start, as after a kill. */
function endAtOnce(signal: NodeJS.Signals): void {
  process.exit(signal === "SIGINT" ? 130 : 143);
}

/** @param header of every request, with a space behind it. */
function welcome(address: string, header: string): string {
  return `mucast listens on ${address}

  curl ${header}-T data/feature_engine_1.json ${address}/data/feature_engine_1.json
  curl ${header}-T data/data_extractor_1.json ${address}/data/data_extractor_1.json
  curl ${header}-H 'Content-Type: application/json' -H 'Prefer: wait=60' ${address}/v1/run_ml_job -d '{
    "feature_url": "${address}/data/feature_engine_1.json",
    "data_extractor_url": "${address}/data/data_extractor_1.json",
    "config": { "ML params": { "model": "ridge" } } }'

  docs     ${address}/docs
  OpenAPI  ${address}/openapi.json
  MCP      ${address}/mcp
`;
}
