import type { Scope } from "./caller.ts";
import {
  type ApiKey,
  type KeyPage,
  type KeyStore,
  newApiKey,
  pageOf,
  type StoredKey,
  secretHash,
} from "./key-store.ts";

/** A fake: keys in memory. It stores only the first use of each. */
export class FakeKeyStore implements Pick<KeyStore, keyof KeyStore> {
  readonly #keys = new Map<string, { key: ApiKey; hash: string }>();

  async create(name: string, scopes: readonly Scope[]): Promise<{ key: ApiKey; token: string }> {
    const { id, secret, token } = newApiKey();
    const made = { created_at: new Date().toISOString(), revoked_at: null, last_used_at: null };
    const key: ApiKey = { id, name, subject: `key:${id}`, scopes: [...scopes], ...made };
    this.#keys.set(id, { key, hash: secretHash(secret) });
    return { key, token };
  }

  async list(): Promise<ApiKey[]> {
    return [...this.#keys.values()].map(({ key }) => key).reverse();
  }

  async page(after: string | undefined): Promise<KeyPage> {
    const all = await this.list();
    return pageOf(after === undefined ? all : all.slice(all.findIndex(({ id }) => id === after) + 1));
  }

  async revoke(id: string): Promise<ApiKey | undefined> {
    const found = this.#keys.get(id);
    if (found === undefined) return undefined;
    found.key = { ...found.key, revoked_at: found.key.revoked_at ?? new Date().toISOString() };
    return found.key;
  }

  async find(id: string): Promise<StoredKey | undefined> {
    const found = this.#keys.get(id);
    if (found === undefined || found.key.revoked_at !== null) return undefined;
    return { hash: found.hash, subject: found.key.subject, scopes: found.key.scopes };
  }

  async recordUse(id: string): Promise<void> {
    const found = this.#keys.get(id)!;
    found.key = { ...found.key, last_used_at: found.key.last_used_at ?? new Date().toISOString() };
  }
}
