import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { MucastError } from "../contract/errors/errors.ts";
import { type Holder, readHolder } from "../service/lock/lock-holder.ts";
import type { RunningService } from "../service/service.ts";
import type { ServiceSettings } from "../service/settings/load-settings.ts";

/** Where a service answers, and what it takes to be let in. */
export interface ServiceAddress {
  readonly address: string;
  readonly token: string | undefined;
}

const LOOK_MILLISECONDS = 100;
const STARTING_MILLISECONDS = 60_000;

/**
 * The service of a data folder: whoever holds its lock, else one that this process starts, on this machine alone.
 */
export class FolderService {
  readonly #settings: ServiceSettings;
  #own: Promise<RunningService> | undefined;

  constructor(settings: ServiceSettings) {
    this.#settings = settings;
  }

  /** Where it answers now: the process that was asked before may have ended. */
  async find(): Promise<ServiceAddress> {
    for (;;) {
      const holder =
        this.#settings.database_url === undefined ? readHolder(this.#settings.data_dir) : undefined;
      if (holder !== undefined && this.#own === undefined) return answering(this.#settings.data_dir);
      try {
        this.#own ??= startOwn(this.#settings);
        const { address } = await this.#own;
        return { address, token: readHolder(this.#settings.data_dir)?.token };
      } catch (error) {
        this.#own = undefined;
        // Another process was faster.
        if (readHolder(this.#settings.data_dir) === undefined) throw error;
      }
    }
  }

  /** Ends the one that this process has started. Its running jobs are handed back for the next start. */
  async close(): Promise<void> {
    await (await this.#own)?.close();
  }
}

/** The holder of a data folder, once it answers. @throws MucastError unavailable where it does not begin to. */
export async function answering(dataDir: string): Promise<ServiceAddress> {
  const until = Date.now() + STARTING_MILLISECONDS;
  for (;;) {
    const holder: Holder | undefined = readHolder(dataDir);
    if (holder === undefined) throw new MucastError("unavailable", `the service of ${dataDir} has ended`);
    if (holder.address !== null) return { address: holder.address, token: holder.token };
    if (Date.now() > until) {
      throw new MucastError("unavailable", `process ${holder.pid} holds ${dataDir} and does not answer`);
    }
    await pause(LOOK_MILLISECONDS);
  }
}

async function startOwn(settings: ServiceSettings): Promise<RunningService> {
  const { startService } = await import("../service/service.ts");
  // With the usual port, where nobody has it, the URLs of blobs stay what they were.
  const port = (await isFree(settings.port)) ? settings.port : 0;
  return startService({ ...settings, host: "127.0.0.1", port, drain_seconds: 0 });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
