import { z } from "zod";
import { MucastError } from "../contract/errors/errors.ts";
import { faultsOf, invalidRequest } from "../contract/errors/faults.ts";
import { printable } from "../contract/errors/wording.ts";
import type { ApiKey } from "../service/auth/key-store.ts";
import { SCOPES } from "../service/operations/operations.ts";
import { withKeys } from "./key-access.ts";
import { table } from "./table.ts";

export interface KeyFlags {
  readonly dataDir?: string;
  readonly settings?: string;
  readonly json?: true;
}

const newKeySchema = z.strictObject({
  name: z.string().trim().min(1).max(100),
  scopes: z.array(z.enum(SCOPES)).min(1),
});

/** Makes a key and prints its token, or with `--json` the key and its token. */
export async function createKey(flags: KeyFlags & { name: string; scopes: string }): Promise<void> {
  const wanted = { name: flags.name, scopes: flags.scopes.split(/[\s,]+/).filter((word) => word !== "") };
  const checked = newKeySchema.safeParse(wanted);
  if (!checked.success) throw invalidRequest(faultsOf(checked.error, newKeySchema, "", wanted).map(asFlag));
  const made = await withKeys(flags, (keys) => keys.create(checked.data.name, checked.data.scopes));
  process.stdout.write(flags.json ? json(made) : `${made.token}\n`);
  process.stderr.write(`made ${about(made.key)}; its token is shown this once only\n`);
}

export async function listKeys(flags: KeyFlags): Promise<void> {
  const keys = await withKeys(flags, (store) => store.list());
  process.stdout.write(flags.json ? json({ keys }) : `${keyTable(keys)}\n`);
}

export async function revokeKey(id: string, flags: KeyFlags): Promise<void> {
  const key = await withKeys(flags, (keys) => keys.revoke(id));
  if (key === undefined) {
    throw new MucastError("not_found", `there is no key ${id}; \`mucast keys list\` shows them`, {
      path: "id",
      value: id,
    });
  }
  if (flags.json) process.stdout.write(json(key));
  process.stderr.write(`revoked ${about(key)}\n`);
}

function asFlag<F extends { readonly path: string }>(fault: F): F {
  return { ...fault, path: `--${fault.path.replace(/^\./, "").replace(/\[.*/, "")}` };
}

function about({ id, name, scopes }: ApiKey): string {
  return `key ${id}, ${printable(name)} (${scopes.join(", ")})`;
}

function keyTable(keys: readonly ApiKey[]): string {
  const rows = keys.map(({ id, name, scopes, created_at, last_used_at, revoked_at }) => [
    id,
    printable(name),
    scopes.join(","),
    created_at,
    last_used_at ?? "never",
    revoked_at ?? "-",
  ]);
  return table(["id", "name", "scopes", "created", "last used", "revoked"], rows);
}

function json(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
