import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";

/** How long to wait for a server without a free connection. */
const MAX_WAIT_MILLISECONDS = 10_000;
const PAUSE_MILLISECONDS = { least: 20, most: 120 };

/** SQLSTATE of a server, a database or a role without a free connection. */
const TOO_MANY_CONNECTIONS = "53300";

/**
 * Connects, and retries while the server has no free connection: other services release theirs within milliseconds.
 * @throws errors of `connect`: after ten seconds if the server is full, otherwise at once.
 */
export async function connectWhenFree<T>(connect: () => Promise<T>): Promise<T> {
  const began = performance.now();
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      const isFull = error instanceof Error && "code" in error && error.code === TOO_MANY_CONNECTIONS;
      if (!isFull || performance.now() - began > MAX_WAIT_MILLISECONDS) throw error;
      const { least, most } = PAUSE_MILLISECONDS;
      await pause(least + Math.random() * (most - least));
    }
  }
}

const RECONNECT_MILLISECONDS = 1_000;

interface ChannelListener {
  onNotification(payload: string): void;
  /** Called after a reconnect. */
  onMissed(): void;
}

/** Listens on a channel over a separate connection, and reconnects if it breaks. @returns a function that stops it. */
export async function listenOn(
  config: pg.ClientConfig,
  channel: string,
  listener: ChannelListener,
): Promise<() => Promise<void>> {
  const connection = new ListeningConnection(config, channel, listener);
  try {
    await connectWhenFree(() => connection.connect());
  } catch (error) {
    await connection.close();
    throw error;
  }
  return () => connection.close();
}

class ListeningConnection {
  readonly #config: pg.ClientConfig;
  readonly #channel: string;
  readonly #listener: ChannelListener;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(config: pg.ClientConfig, channel: string, listener: ChannelListener) {
    this.#config = { ...config, keepAlive: true, connectionTimeoutMillis: 5_000 };
    this.#channel = channel;
    this.#listener = listener;
  }

  async connect(): Promise<void> {
    const client = new pg.Client(this.#config);
    this.#client = client;
    client.on("notification", ({ payload }) => this.#listener.onNotification(payload ?? ""));
    client.on("error", () => this.#reconnectLater(client));
    client.on("end", () => this.#reconnectLater(client));
    await client.connect();
    await client.query(`listen ${client.escapeIdentifier(this.#channel)}`);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#client?.end();
  }

  /** Reconnects after a while, once for each broken client. */
  #reconnectLater(client: pg.Client): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    // The server may have refused only to listen: the client may still be connected.
    client.end().catch(() => undefined);
    this.#timer = setTimeout(() => void this.#reconnect(), RECONNECT_MILLISECONDS);
  }

  async #reconnect(): Promise<void> {
    try {
      await this.connect();
      this.#listener.onMissed();
    } catch {
      // The server is still unreachable. The service polls meanwhile, and a later attempt creates a new client.
      if (this.#client) this.#reconnectLater(this.#client);
    }
  }
}
