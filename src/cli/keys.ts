import type { Command } from "commander";
import type { KeyFlags } from "./key-commands.ts";

/** Adds `mucast keys`. The database is loaded only where no service has it open. */
export function addKeys(program: Command): void {
  const keys = program
    .command("keys")
    .description("make, list and revoke the API keys of a service with auth: keys")
    .addHelpText("after", HELP);
  withPlace(keys.command("create"))
    .description("make a key; stdout carries its token, which is shown this once only")
    .requiredOption("--name <text>", "whose key it is, or what for")
    .option("--scopes <words>", "read, write, admin, parted by commas", "read,write")
    .action(async (flags: KeyFlags & { name: string; scopes: string }) => {
      const { createKey } = await import("./key-commands.ts");
      await createKey(flags);
    });
  withPlace(keys.command("list"))
    .description("tell all keys, revoked ones too; never their tokens")
    .action(async (flags: KeyFlags) => {
      const { listKeys } = await import("./key-commands.ts");
      await listKeys(flags);
    });
  withPlace(keys.command("revoke"))
    .description("refuse a key from now on")
    .argument("<id>", "the id of the key: what stands between mucast_ and the secret")
    .action(async (id: string, flags: KeyFlags) => {
      const { revokeKey } = await import("./key-commands.ts");
      await revokeKey(id, flags);
    });
}

function withPlace(command: Command): Command {
  return command
    .option("--data-dir <folder>", "database and blobs [env: MUCAST_DATA_DIR]")
    .option("--settings <file>", "settings as JSON; see docs/configuration.md [env: MUCAST_SETTINGS]")
    .option("--json", "print JSON");
}

const HELP = `
Examples:
  mucast keys create --name "the optimizer"
  mucast keys create --name dashboard --scopes read
  mucast keys revoke 0123456789abcdef

With a PostgreSQL (DATABASE_URL) the keys lie there; otherwise in the data folder, whose service is asked where one runs.
Whoever may use this command is the operator: operations and blobs belong to the key that made them.`;
