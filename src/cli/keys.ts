import type { Command } from "commander";
import { MucastError } from "../contract/errors/errors.ts";
import { faultsOf, invalidRequest } from "../contract/errors/faults.ts";
import { printable } from "../contract/errors/wording.ts";
import { type ApiKey, type KeyStore, newKeySchema } from "../service/auth/key-store.ts";
import { addRequiredOption } from "./arguments/required-option.ts";
import { table } from "./terminal/output-table.ts";

/** Adds `mucast keys`. The database is loaded only when a command opens it. */
export function addKeys(program: Command): void {
  const keys = program
    .command("keys")
    .description("create, list and revoke the API keys of a service with auth: keys")
    .addHelpText("after", HELP);
  const create = withSettings(keys.command("create")).description(
    "create a key; stdout carries its token, which is shown only once",
  );
  addRequiredOption(create, "--name <text>", "who or what the key is for")
    .option("--scopes <words>", "comma-separated: read, write, admin", "read,write")
    .action(async (flags: KeyFlags & { name: string; scopes: string }) => {
      await createKey(flags);
    });
  withSettings(keys.command("list"))
    .description("list all keys, including revoked ones; never their tokens")
    .action(async (flags: KeyFlags) => {
      await listKeys(flags);
    });
  withSettings(keys.command("revoke"))
    .description("revoke a key; the service refuses it from now on")
    .argument("<id>", "the id of the key: the part between mucast_ and the secret")
    .action(async (id: string, flags: KeyFlags) => {
      await revokeKey(id, flags);
    });
}

function withSettings(command: Command): Command {
  return command
    .option("--data-dir <folder>", "folder of the database and the blobs [env: MUCAST_DATA_DIR]")
    .option("--settings <file>", "settings as JSON; see docs/configuration.md [env: MUCAST_SETTINGS]")
    .option("--json", "print JSON");
}

const HELP = `
Examples:
  mucast keys create --name "the optimizer"
  mucast keys create --name dashboard --scopes read
  mucast keys revoke 0123456789abcdef

Keys are stored in the database of the service: PostgreSQL (DATABASE_URL) if it is set, otherwise the file in the data folder. The
service may run meanwhile. Run the command as the user of the data folder. Operations and blobs belong to the key that created them.`;

interface KeyFlags {
  readonly dataDir?: string;
  readonly settings?: string;
  readonly json?: true;
}

/** Creates a key and prints its token, or with `--json` the key and its token. */
async function createKey(flags: KeyFlags & { name: string; scopes: string }): Promise<void> {
  const wanted = { name: flags.name, scopes: flags.scopes.split(/[\s,]+/).filter((word) => word !== "") };
  const checked = newKeySchema.safeParse(wanted);
  if (!checked.success) throw invalidRequest(faultsOf(checked.error, newKeySchema, "", wanted).map(asFlag));
  const made = await withKeys(flags, (keys) => keys.create(checked.data.name, checked.data.scopes));
  process.stdout.write(flags.json ? json(made) : `${made.token}\n`);
  process.stderr.write(`created ${about(made.key)}; its token is shown only once\n`);
}

async function listKeys(flags: KeyFlags): Promise<void> {
  const keys = await withKeys(flags, (store) => store.list());
  process.stdout.write(flags.json ? json({ keys }) : `${keyTable(keys)}\n`);
}

async function revokeKey(id: string, flags: KeyFlags): Promise<void> {
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

/** Calls `body` with the keys of the database that the settings select, beside any service. */
export async function withKeys<T>(
  { dataDir, settings: file }: Pick<KeyFlags, "dataDir" | "settings">,
  body: (keys: KeyStore) => Promise<T>,
): Promise<T> {
  const { loadSettings } = await import("../service/settings/load-settings.ts");
  const { openDatabase } = await import("../service/database/database.ts");
  const { KeyStore } = await import("../service/auth/key-store.ts");
  const settings = loadSettings({ data_dir: dataDir, settings: file }, process.env);
  const database = await openDatabase({ ...settings, database_connections: 1 });
  try {
    return await body(new KeyStore(database));
  } finally {
    await database.close();
  }
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
