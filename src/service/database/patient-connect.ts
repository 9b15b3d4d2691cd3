import { setTimeout as pause } from "node:timers/promises";

/** How long a connection is waited for where the server has none left. */
const PATIENCE_MILLISECONDS = 10_000;
const PAUSE_MILLISECONDS = { least: 20, most: 120 };

/** SQLSTATE of a server, a database or a role that has no connection left. */
const TOO_MANY_CONNECTIONS = "53300";

/**
 * Connects, again and again where the server has no connection left: others give theirs back in milliseconds.
 * @throws what `connect` throws: of a full server after ten seconds, else at once.
 */
export async function patiently<T>(connect: () => Promise<T>): Promise<T> {
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
