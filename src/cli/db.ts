import type { Command } from "commander";
import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import type { Database } from "../service/database/database.ts";
import type { Migration } from "../service/database/schema.ts";
import type { ServiceSettings } from "../service/settings/load-settings.ts";

/** Adds `mucast db`. The database is loaded only when it is opened. */
export function addDb(program: Command): void {
  const db = program
    .command("db")
    .description("show, migrate and back up the database of a service, and find orphaned blobs")
    .addHelpText("after", HELP);
  withSettings(db.command("status"))
    .description("show the version of the database, and what this program would change; changes nothing")
    .action(status);
  withSettings(db.command("migrate"))
    .description("bring the tables to the version of this program, as a service does when it starts")
    .action(migrate);
  withSettings(db.command("backup"))
    .description("copy the embedded database into a new file, also while services run")
    .argument("<file>", "the new file; an existing one is refused")
    .action(backup);
  withSettings(db.command("orphans"))
    .description(
      "list the blobs that the database does not name, as after a restore; services may run meanwhile",
    )
    .option("--remove", "remove the listed blobs")
    .option(
      "--root",
      "include blobs directly in data/, where files that you have put there have no record either",
    )
    .action(orphans);
}

function withSettings(command: Command): Command {
  return command
    .option("--data-dir <folder>", "folder of the database and the blobs [env: MUCAST_DATA_DIR]")
    .option("--settings <file>", "settings as JSON; see docs/configuration.md [env: MUCAST_SETTINGS]");
}

const HELP = `
Examples:
  DATABASE_URL=postgres://… mucast db status
  sudo -u mucast mucast db backup /backup/mucast.db --data-dir /var/lib/mucast
  DATABASE_URL=postgres://… BLOB_URL=s3://… mucast db orphans --remove

Services may run meanwhile, except for migrate. For an embedded database, run the commands as the user of the data folder. Back up
PostgreSQL (DATABASE_URL) with its own tools, such as pg_dump (docs/deploying.md).`;

interface DbFlags {
  readonly dataDir?: string;
  readonly settings?: string;
}

async function status(flags: DbFlags): Promise<void> {
  const { VERSION, schemaVersion } = await import("../service/database/schema.ts");
  const [name, version] = await withDatabase(flags, async (database, shown) => [
    shown,
    await schemaVersion(database),
  ]);
  process.stdout.write(
    `${name}, version ${version}; this mucast has version ${VERSION}\n${advice(version, VERSION)}\n`,
  );
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
  const [name, { from, to, seconds }] = await withDatabase(
    flags,
    async (database, shown): Promise<[string, Migration]> => [shown, await migrateTables(database)],
  );
  process.stdout.write(
    from === to
      ? `Nothing to migrate in the ${name}.\n`
      : `Migrated the ${name} from version ${from} to ${to} in ${seconds} s.\n`,
  );
}

async function backup(file: string, flags: DbFlags): Promise<void> {
  const settings = await settingsOf(flags);
  if (settings.database_url !== undefined) {
    const message = "the database is PostgreSQL (DATABASE_URL); back it up with pg_dump (docs/deploying.md)";
    throw new MucastError("invalid_request", message, { path: "DATABASE_URL" });
  }
  const { backUpSqlite } = await import("../service/database/sqlite.ts");
  await backUpSqlite(settings.data_dir, file);
  process.stdout.write(`${file}\n`);
}

async function orphans({
  remove: removes = false,
  root: withRoot = false,
  ...flags
}: DbFlags & { readonly remove?: boolean; readonly root?: boolean }): Promise<void> {
  const { openStorage } = await import("../service/blobs/storage.ts");
  const { findOrphans, namesAnyBlob, removeOrphan } = await import("../service/blobs/orphans.ts");
  const { store } = await openStorage(await settingsOf(flags), process.env);
  const found = { blobs: 0, bytes: 0, left: 0, young: 0 };
  let allOldAt = new Date(0);
  let name: string;
  try {
    name = await withDatabase(flags, async (database, shown) => {
      await requireCurrent(database);
      const { db } = database;
      const mayRemove = removes && (await namesAnyBlob(db, store));
      for await (const orphan of findOrphans(db, store)) {
        const { space, key, size, modifiedAt, isAtRoot, oldAt } = orphan;
        if (oldAt > new Date()) {
          found.young++;
          if (oldAt > allOldAt) allOldAt = oldAt;
          continue;
        }
        if (isAtRoot && !withRoot) {
          found.left++;
          continue;
        }
        if (removes && !mayRemove) throw isOfOtherStorage(shown);
        if (removes && !(await removeOrphan(db, store, orphan))) continue;
        found.blobs++;
        found.bytes += size;
        const path = space === "" ? key : `${space}/${key}`;
        process.stdout.write(`${path}\t${size}\t${modifiedAt.toISOString()}\n`);
      }
      return shown;
    });
  } finally {
    await store.close();
  }
  process.stderr.write(orphanSummary(found, { name, removed: removes, allOldAt }));
}

function isOfOtherStorage(name: string): MucastError {
  const message = `the ${name} names no blob of this storage, so it is likely another service's; check DATABASE_URL and BLOB_URL, or --data-dir. Nothing was removed`;
  return new MucastError("invalid_request", message, { path: "--remove" });
}

function orphanSummary(
  { blobs, bytes, left, young }: Readonly<Record<"blobs" | "bytes" | "left" | "young", number>>,
  { name, removed, allOldAt }: { readonly name: string; readonly removed: boolean; readonly allOldAt: Date },
) {
  const total = `${counted(blobs, "blob")} that the ${name} does not name, ${counted(bytes, "byte")}`;
  const found =
    blobs === 0
      ? `No orphaned blobs according to the ${name}.`
      : removed
        ? `Removed ${total}.`
        : `${total}. --remove removes them.`;
  const others = `${counted(left, "blob")} directly in data/ without a record, perhaps your own files: --root includes them.`;
  const tooYoung = `Left out ${counted(young, "blob")} without a record, less than an hour old: an upload or a job may still record them. Run this again after ${allOldAt.toISOString()}.`;
  return [found, ...(left === 0 ? [] : [others]), ...(young === 0 ? [] : [tooYoung]), ""].join("\n");
}

/** @throws MucastError unavailable if the tables have another version: a change of them is not what was asked for. */
async function requireCurrent(database: Database): Promise<void> {
  const { VERSION, schemaVersion } = await import("../service/database/schema.ts");
  const version = await schemaVersion(database);
  if (version === VERSION) return;
  const message = `the database has version ${version}, and this mucast ${VERSION}; see mucast db status`;
  throw new MucastError("unavailable", message, { value: version });
}

/** @param body gets the existing database with the tables that it has, and its name without user and password. */
async function withDatabase<T>(
  flags: DbFlags,
  body: (database: Database, name: string) => Promise<T>,
): Promise<T> {
  const settings = await settingsOf(flags);
  const { database_url: url, data_dir: dataDir } = settings;
  const { openUnmigrated } = await import("../service/database/database.ts");
  if (url === undefined) (await import("../service/database/sqlite.ts")).requireSqlite(dataDir);
  const database = await openUnmigrated(settings);
  try {
    const name =
      url === undefined
        ? `embedded database in ${dataDir}`
        : (await import("../service/database/postgres.ts")).postgresName(url);
    return await body(database, name);
  } finally {
    await database.close();
  }
}

async function settingsOf({ dataDir, settings: file }: DbFlags): Promise<ServiceSettings> {
  const { loadSettings } = await import("../service/settings/load-settings.ts");
  return loadSettings({ data_dir: dataDir, settings: file }, process.env);
}
