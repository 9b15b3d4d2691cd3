import type { Command } from "commander";
import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import type { Database } from "../service/database/database.ts";
import type { ServiceSettings } from "../service/settings/load-settings.ts";
import { addCommand, type FlagsOf, SETTINGS_OPTIONS } from "./command.ts";

type DbFlags = FlagsOf<typeof SETTINGS_OPTIONS>;

/** Adds `mucast db`. The database is loaded only when it is opened. */
export function addDb(program: Command): void {
  const db = program
    .command("db")
    .description("show, migrate and back up the database of a service, and find orphaned blobs")
    .addHelpText("after", HELP);
  const options = SETTINGS_OPTIONS;
  addCommand(db, "status", {
    about: "show the version of the database, and what this program would change; changes nothing",
    options,
    run: status,
  });
  addCommand(db, "migrate", {
    about: "bring the tables to the version of this program, as a service does when it starts",
    options,
    run: migrate,
  });
  addCommand(db, "backup", {
    about: "copy the embedded database into a new file, also while services run",
    argument: ["<file>", "the new file; an existing one is refused"],
    options,
    run: backup,
  });
  addCommand(db, "orphans", {
    about: "list the blobs that the database does not name, as after a restore; services may run meanwhile",
    options: {
      ...options,
      remove: ["--remove", "remove the listed blobs"],
      root: ["--root", "include blobs directly in data/, such as files of your own"],
    },
    run: ({ remove, root, ...flags }) => listOrphans(flags, remove === true, root === true),
  });
}

const HELP = `
Examples:
  DATABASE_URL=postgres://… mucast db status
  sudo -u mucast mucast db backup /backup/mucast.db --data-dir /var/lib/mucast
  DATABASE_URL=postgres://… BLOB_URL=s3://… mucast db orphans --remove

Services may run meanwhile, except for migrate. For an embedded database, run the commands as the user of the data folder. Back up
PostgreSQL (DATABASE_URL) with its own tools, such as pg_dump (docs/deploying.md).`;

async function status(flags: DbFlags): Promise<void> {
  const { VERSION, schemaVersion } = await import("../service/database/schema.ts");
  await withDatabase(flags, async (database, name) => {
    const version = await schemaVersion(database);
    process.stdout.write(
      `${name}, version ${version}; this mucast has version ${VERSION}\n${advice(version, VERSION)}\n`,
    );
  });
}

function advice(version: number, known: number): string {
  if (version > known) return "A newer mucast has migrated it. This one refuses it: start the newer program.";
  if (version === known) return "Nothing to migrate.";
  if (version === 0)
    return "The database is new. The service creates its tables when it starts, and so does mucast db migrate.";
  return "mucast db migrate, or the next service that starts, brings it up to date. Stop all services and back up the database first: there is no way back.";
}

async function migrate(flags: DbFlags): Promise<void> {
  const { migrate: migrateTables } = await import("../service/database/schema.ts");
  await withDatabase(flags, async (database, name) => {
    const { from, to, seconds } = await migrateTables(database);
    process.stdout.write(
      from === to
        ? `Nothing to migrate in the ${name}.\n`
        : `Migrated the ${name} from version ${from} to ${to} in ${seconds} s.\n`,
    );
  });
}

async function backup(flags: DbFlags, file: string): Promise<void> {
  const settings = await settingsOf(flags);
  if (settings.database_url !== undefined) {
    const message = "the database is PostgreSQL (DATABASE_URL); back it up with pg_dump (docs/deploying.md)";
    throw new MucastError("invalid_request", message, { path: "DATABASE_URL" });
  }
  const { backUpSqlite } = await import("../service/database/sqlite.ts");
  await backUpSqlite(settings.data_dir, file);
  process.stdout.write(`${file}\n`);
}

async function listOrphans(flags: DbFlags, removes: boolean, withRoot: boolean): Promise<void> {
  const { openStorage } = await import("../service/blobs/storage.ts");
  const { findOrphans, namesAnyBlob, removeOrphan } = await import("../service/blobs/orphans.ts");
  const { VERSION, schemaVersion } = await import("../service/database/schema.ts");
  let [blobs, bytes, atRoot, young, allOldAt] = [0, 0, 0, 0, new Date(0)];
  await withDatabase(flags, async (database, name, settings) => {
    const version = await schemaVersion(database);
    if (version !== VERSION) {
      const message = `the database has version ${version}, and this mucast ${VERSION}; see mucast db status`;
      throw new MucastError("unavailable", message, { value: version });
    }
    const { db } = database;
    const { store } = await openStorage(settings, process.env);
    try {
      const mayRemove = removes && (await namesAnyBlob(db, store));
      for await (const orphan of findOrphans(db, store)) {
        const { space, key, size, modifiedAt, isAtRoot, oldAt } = orphan;
        if (oldAt > new Date()) {
          young++;
          if (oldAt > allOldAt) allOldAt = oldAt;
        } else if (isAtRoot && !withRoot) atRoot++;
        else {
          if (removes && !mayRemove) throw isOfOtherStorage(name);
          if (removes && !(await removeOrphan(db, store, orphan))) continue;
          blobs++;
          bytes += size;
          const path = space === "" ? key : `${space}/${key}`;
          process.stdout.write(`${path}\t${size}\t${modifiedAt.toISOString()}\n`);
        }
      }
    } finally {
      await store.close();
    }
    const total = `${counted(blobs, "blob")} that the ${name} does not name, ${counted(bytes, "byte")}`;
    const lines = [removes ? `Removed ${total}.` : `${total}. --remove removes them.`];
    if (blobs === 0) lines[0] = `No orphaned blobs according to the ${name}.`;
    if (atRoot > 0) {
      const what = `${counted(atRoot, "blob")} directly in data/ without a record`;
      lines.push(`${what}, perhaps your own files: --root includes them.`);
    }
    if (young > 0) {
      const what = `${counted(young, "blob")} without a record, less than an hour old`;
      const why = `an upload or a job may still record them. Run this again after ${allOldAt.toISOString()}.`;
      lines.push(`Left out ${what}: ${why}`);
    }
    process.stderr.write(`${lines.join("\n")}\n`);
  });
}

function isOfOtherStorage(name: string): MucastError {
  const message = `the ${name} names no blob of this storage, so it is likely another service's; check DATABASE_URL and BLOB_URL, or --data-dir. Nothing was removed`;
  return new MucastError("invalid_request", message, { path: "--remove" });
}

/** @param body gets the existing database with the tables that it has, and its name without user and password. */
async function withDatabase(
  flags: DbFlags,
  body: (database: Database, name: string, settings: ServiceSettings) => Promise<void>,
): Promise<void> {
  const settings = await settingsOf(flags);
  const { database_url: url, data_dir: dataDir } = settings;
  const { openUnmigrated } = await import("../service/database/database.ts");
  const { requireSqlite } = await import("../service/database/sqlite.ts");
  const { postgresName } = await import("../service/database/postgres.ts");
  if (url === undefined) requireSqlite(dataDir);
  const database = await openUnmigrated(settings);
  try {
    const name = url === undefined ? `embedded database in ${dataDir}` : postgresName(url);
    await body(database, name, settings);
  } finally {
    await database.close();
  }
}

async function settingsOf(flags: DbFlags): Promise<ServiceSettings> {
  const { loadSettings } = await import("../service/settings/load-settings.ts");
  return loadSettings(flags, process.env);
}
