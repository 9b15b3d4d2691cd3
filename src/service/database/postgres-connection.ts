import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { MucastError } from "../../contract/errors/errors.ts";

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

const UNREACHABLE = "the database cannot be reached";

/** Errors after which a later call may succeed, by the prefix of their SQLSTATE; the first match counts. */
const TRANSIENT_STATES: readonly (readonly [state: string, message: string])[] = [
  ["08", UNREACHABLE],
  ["25006", "the database is read-only"],
  ["25P03", UNREACHABLE],
  ["40001", "two requests changed the same rows of the database"],
  ["40P01", "two requests changed the same rows of the database"],
  ["53300", "the database has no connection left"],
  ["53", "the database has no room left"],
  ["55P03", "another session holds a lock that the database needs"],
  ["57014", "the database took too long"],
  ["57P0", UNREACHABLE],
];
const TRANSIENT_CODE = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)/;

const RETRY_SECONDS = 5;

/** Runs `body`. @throws MucastError unavailable instead of an error after which a later call may succeed. */
export async function mapPassing<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    const message = transientMessage(error);
    throw message === undefined ? error : unavailable(message, error as Error);
  }
}

/** Whether a connection must not be reused after this error: it is broken, still owes an answer, or led to a standby. */
export function endsConnection(error: unknown): error is Error {
  return transientMessage(error) !== undefined && !isAnswer(error as Error);
}

/** Whether the server sent the error, is ready for the next statement, and may answer that one differently. */
function isAnswer(error: Error): boolean {
  // After a failover, a new connection may reach the server that accepts writes.
  return error instanceof pg.DatabaseError && !/^(08|57P|25P03|25006)/.test(error.code ?? "");
}

/** The message for callers; undefined for an error that later calls would meet, too. */
function transientMessage(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof MucastError) return undefined;
  const code = "code" in error ? String(error.code) : "";
  const known = TRANSIENT_STATES.find(([state]) => code.startsWith(state));
  if (known) return known[1];
  const isConnection = code === "" && /connect|terminat|timeout/i.test(error.message);
  return TRANSIENT_CODE.test(code) || isConnection ? UNREACHABLE : undefined;
}

function unavailable(message: string, cause: Error): MucastError {
  const code = "code" in cause ? ` (${String(cause.code)})` : "";
  return new MucastError("unavailable", `${message}${code}`, { retryAfter: RETRY_SECONDS }, { cause });
}
