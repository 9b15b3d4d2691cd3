import { errorOf } from "../../client/api-error.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Scope } from "../../service/auth/caller.ts";
import type { ApiKey, KeyPage, KeyStore } from "../../service/auth/key-store.ts";
import type { DataLock } from "../../service/lock/data-lock.ts";
import { readHolder } from "../../service/lock/lock-holder.ts";
import { loadSettings, type ServiceSettings } from "../../service/settings/load-settings.ts";
import { answering, asMucastError } from "./service-access.ts";

/**
 * Calls `body` with the keys that the settings select: in PostgreSQL, in the service that has the data folder open, or in the
 * folder itself, which no other process may open meanwhile.
 * @throws MucastError unavailable if the database or that service does not answer.
 */
export async function withKeys<T>(
  { dataDir, settings: file }: { readonly dataDir?: string; readonly settings?: string },
  body: (keys: Keys) => Promise<T>,
): Promise<T> {
  const settings = loadSettings({ data_dir: dataDir, settings: file }, process.env);
  if (settings.database_url !== undefined) return inDatabase(settings, body);
  if (readHolder(settings.data_dir) !== undefined) {
    const { address, token } = await answering(settings.data_dir);
    return body(new ServedKeys(address, token!));
  }
  const { lockDataFolder } = await import("../../service/lock/data-lock.ts");
  const lock = lockDataFolder(settings.data_dir);
  try {
    return await inDatabase(settings, body, lock);
  } finally {
    lock.release();
  }
}

async function inDatabase<T>(
  settings: ServiceSettings,
  body: (keys: Keys) => Promise<T>,
  lock?: DataLock,
): Promise<T> {
  const { openDatabase } = await import("../../service/database/open-database.ts");
  const { KeyStore } = await import("../../service/auth/key-store.ts");
  const database = await openDatabase({
    databaseUrl: settings.database_url,
    connections: 1,
    dataDir: settings.data_dir,
    lock,
  });
  try {
    return await body(new KeyStore(database));
  } finally {
    await database.close();
  }
}

export type Keys = Pick<KeyStore, "create" | "list" | "revoke">;

/** The keys of a running service, which admits its operator by the token in its lock file. */
export class ServedKeys implements Keys {
  readonly #address: string;
  readonly #token: string;

  constructor(address: string, token: string) {
    this.#address = address;
    this.#token = token;
  }

  create(name: string, scopes: readonly Scope[]): Promise<{ key: ApiKey; token: string }> {
    return this.#ask("POST", "", { name, scopes });
  }

  async list(): Promise<ApiKey[]> {
    const all: ApiKey[] = [];
    for (let query = ""; ; ) {
      const { keys, next_cursor } = await this.#ask<KeyPage>("GET", query);
      all.push(...keys);
      if (next_cursor == null) return all;
      query = `?cursor=${encodeURIComponent(next_cursor)}`;
    }
  }

  async revoke(id: string): Promise<ApiKey | undefined> {
    try {
      return await this.#ask<ApiKey>("DELETE", `/${encodeURIComponent(id)}`);
    } catch (error) {
      if (error instanceof MucastError && error.code === "not_found") return undefined;
      throw error;
    }
  }

  async #ask<T>(method: string, path: string, body?: object): Promise<T> {
    try {
      const response = await fetch(`${this.#address}/admin/keys${path}`, {
        method,
        headers: { authorization: `Bearer ${this.#token}`, "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body),
      });
      if (!response.ok) throw await errorOf(response);
      return (await response.json()) as T;
    } catch (error) {
      throw asMucastError(error);
    }
  }
}
