import pg from "pg";
import { patiently } from "./patient-connect.ts";

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
    await patiently(() => listener.connect());
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
