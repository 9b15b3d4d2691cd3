import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";

/** How long a connection is waited for where the server has none left. */
const PATIENCE_MILLISECONDS = 10_000;
const PAUSE_MILLISECONDS = { least: 20, most: 120 };

/** SQLSTATE of a server, a database or a role that has no connection left. */
const TOO_MANY_CONNECTIONS = "53300";

/**
 * Connects, again and again where the server has no connection left: others give theirs back in milliseconds.
 * @throws what `connect` throws: of a full server after ten seconds, else at once.
 */
export async function connectWhenFree<T>(connect: () => Promise<T>): Promise<T> {
  const began = performance.now();
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      const isFull = error instanceof Error && "code" in error && error.code === TOO_MANY_CONNECTIONS;
      if (!isFull || performance.now() - began > PATIENCE_MILLISECONDS) throw error;
      const { least, most } = PAUSE_MILLISECONDS;
      await pause(least + Math.random() * (most - least));
    }
  }
}

const RECONNECT_MILLISECONDS = 1_000;

/** Holds one connection that listens on a channel, and makes another where it breaks. */
export async function listenOn(
  config: pg.ClientConfig,
  channel: string,
  told: (payload: string) => void,
  missed: () => void,
): Promise<() => Promise<void>> {
  const listener = new Listener(config, channel, told, missed);
  try {
    await connectWhenFree(() => listener.connect());
  } catch (error) {
    await listener.close();
    throw error;
  }
  return () => listener.close();
}

class Listener {
  readonly #config: pg.ClientConfig;
  readonly #channel: string;
  readonly #told: (payload: string) => void;
  readonly #missed: () => void;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(config: pg.ClientConfig, channel: string, told: (payload: string) => void, missed: () => void) {
    this.#config = { ...config, keepAlive: true, connectionTimeoutMillis: 5_000 };
    this.#channel = channel;
    this.#told = told;
    this.#missed = missed;
  }

  async connect(): Promise<void> {
    const client = new pg.Client(this.#config);
    this.#client = client;
    client.on("notification", ({ payload }) => this.#told(payload ?? ""));
    client.on("error", () => this.#later(client));
    client.on("end", () => this.#later(client));
    await client.connect();
    await client.query(`listen ${client.escapeIdentifier(this.#channel)}`);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#client?.end();
  }

  /** Once for each broken client. */
  #later(client: pg.Client): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    // It may be connected all the same, and only have refused to listen.
    client.end().catch(() => undefined);
    this.#timer = setTimeout(() => void this.#again(), RECONNECT_MILLISECONDS);
  }

  async #again(): Promise<void> {
    try {
      await this.connect();
      this.#missed();
    } catch {
      // The server is still away: polling goes on meanwhile, and this client is given up for the next.
      if (this.#client) this.#later(this.#client);
    }
  }
}
