import { MucastError } from "../contract/errors/errors.ts";
import { findEnvironment } from "../engine/environment/environment.ts";
import { startService } from "../service/service.ts";
import { loadSettings, type ServiceSettings, type SettingFlags } from "../service/settings/load-settings.ts";
import { onEndSignal } from "./end-signal.ts";
import { welcome } from "./welcome.ts";

const CLOSING_SECONDS = 30;

/** Runs a service until a signal tells it to end, then ends the process; another one, a second later, ends it at once. */
export async function serve(flags: SettingFlags): Promise<void> {
  const settings = loadSettings(flags, process.env);
  // From the start on: a service that is still opening ends as soon as it is open.
  const stopped = new Promise<NodeJS.Signals>(onEndSignal);
  // The service goes on where its address cannot be told: a full disk, a reader that is gone.
  process.stdout.on("error", () => undefined);
  const service = await startService(settings);
  const address = settings.public_url?.replace(/\/+$/, "") ?? service.address;
  process.stdout.write(welcome(address, settings, hasEngine(settings)));
  await stopped;
  endInTime((settings.drain_seconds + CLOSING_SECONDS) * 1_000);
  await service.close();
  // Clients of others' services, such as that of traces, may hold the process with timers of their own.
  process.exit(0);
}

/** Whether this machine can run jobs, where it is this machine that runs them. */
function hasEngine({ executor }: ServiceSettings): boolean {
  if (executor !== "process") return true;
  try {
    findEnvironment("ml");
    return true;
  } catch (error) {
    if (error instanceof MucastError) return false;
    throw error;
  }
}

/** A database that went without a word would keep the process; what runs is taken over then, as after a kill. */
function endInTime(milliseconds: number): void {
  setTimeout(() => {
    process.stderr.write("mucast: not everything could be closed in time\n");
    process.exit(1);
  }, milliseconds);
}
