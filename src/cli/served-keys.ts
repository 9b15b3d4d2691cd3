import { errorOf } from "../client/api-error.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { ApiKey, KeyStore } from "../service/auth/key-store.ts";
import type { Scope } from "../service/operations/operations.ts";
import { asMucastError } from "./remote-error.ts";

/** What the commands do with keys. */
export type Keys = Pick<KeyStore, "create" | "list" | "revoke">;

/** The keys of a service that runs, which lets its operator in by the token of its lock file. */
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
    return (await this.#ask<{ keys: ApiKey[] }>("GET", "")).keys;
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
