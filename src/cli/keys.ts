import type { Command } from "commander";
import { MucastError } from "../contract/errors/errors.ts";
import { printable } from "../contract/errors/wording.ts";
import { type ApiKey, type KeyStore, newKeySchema } from "../service/auth/key-store.ts";
import { addCommand, type FlagsOf, membersOf, SETTINGS_OPTIONS } from "./command.ts";
import { table } from "./terminal/output-table.ts";

const OPTIONS = { ...SETTINGS_OPTIONS, json: ["--json", "print JSON"] } as const;
const CREATE_OPTIONS = {
  ...OPTIONS,
  name: ["--name <text>", "who or what the key is for", { required: true }],
  scopes: ["--scopes <words>", "comma-separated: read, write, admin", { default: "read,write" }],
} as const;

/** Adds `mucast keys`. The database is loaded only when a command opens it. */
export function addKeys(program: Command): void {
  const keys = program
    .command("keys")
    .description("create, list and revoke the API keys of a service with auth: keys")
    .addHelpText("after", HELP);
  addCommand(keys, "create", {
    about: "create a key; stdout carries its token, which is shown only once",
    options: CREATE_OPTIONS,
    run: async ({ json, ...flags }) => {
      const scopes = flags.scopes.split(/[\s,]+/).filter((word) => word !== "");
      const wanted = membersOf(newKeySchema, { ...flags, scopes }, CREATE_OPTIONS);
      const made = await withKeys(flags, (store) => store.create(wanted.name, wanted.scopes));
      process.stdout.write(json ? `${JSON.stringify(made)}\n` : `${made.token}\n`);
      process.stderr.write(`created ${about(made.key)}; its token is shown only once\n`);
    },
  });
  addCommand(keys, "list", {
    about: "list all keys, including revoked ones; never their tokens",
    options: OPTIONS,
    run: async ({ json, ...flags }) => {
      const found = await withKeys(flags, (store) => store.list());
      process.stdout.write(`${json ? JSON.stringify({ keys: found }) : keyTable(found)}\n`);
    },
  });
  addCommand(keys, "revoke", {
    about: "revoke a key; the service refuses it from now on",
    argument: ["<id>", "the id of the key: the part between mucast_ and the secret"],
    options: OPTIONS,
    run: async ({ json, ...flags }, id) => {
      const key = await withKeys(flags, (store) => store.revoke(id));
      if (key === undefined) {
        const message = `there is no key ${id}; \`mucast keys list\` shows them`;
        throw new MucastError("not_found", message, { path: "id", value: id });
      }
      if (json) process.stdout.write(`${JSON.stringify(key)}\n`);
      process.stderr.write(`revoked ${about(key)}\n`);
    },
  });
}

const HELP = `
Examples:
  mucast keys create --name "the optimizer"
  mucast keys create --name dashboard --scopes read
  mucast keys revoke 0123456789abcdef

Keys are stored in the database of the service: PostgreSQL (DATABASE_URL) if it is set, otherwise the file in the data folder. The
service may run meanwhile. Run the command as the user of the data folder. Operations and blobs belong to the key that created them.`;

/** Calls `body` with the keys of the database that the settings select, beside any service. */
export async function withKeys<T>(
  { data_dir, settings: file }: Partial<FlagsOf<typeof SETTINGS_OPTIONS>>,
  body: (keys: KeyStore) => Promise<T>,
): Promise<T> {
  const { loadSettings } = await import("../service/settings/load-settings.ts");
  const { openDatabase } = await import("../service/database/database.ts");
  const { KeyStore } = await import("../service/auth/key-store.ts");
  const settings = loadSettings({ data_dir, settings: file }, process.env);
  const database = await openDatabase({ ...settings, database_connections: 1 });
  try {
    return await body(new KeyStore(database));
  } finally {
    await database.close();
  }
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
