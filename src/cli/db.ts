import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import type { ListedBlob } from "../blob/store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import type { Database } from "../service/database/database.ts";
import type { Migration } from "../service/database/open-database.ts";
import type { DataLock } from "../service/lock/data-lock.ts";
import type { ServiceSettings } from "../service/settings/load-settings.ts";

/** Adds `mucast db`. The database is loaded only when it is opened. */
export function addDb(program: Command): void {
  const db = program
    .command("db")
    .description(
      "show and migrate the database of a service, find orphaned blobs; dump, restore and unlock the embedded one",
    )
    .addHelpText("after", HELP);
  withSettings(db.command("status"))
    .description("show the version of the database, and what this program would change; changes nothing")
    .action(status);
  withSettings(db.command("migrate"))
    .description("bring the tables to the version of this program, as a service does when it starts")
    .action(migrate);
  withSettings(db.command("dump"))
    .description("dump the database while no service has it open; stdout carries the path of the dump")
    .action(dump);
  withSettings(db.command("restore"))
    .description("restore the database from a dump; the current one is moved aside, never removed")
    .option("--from <file>", "the dump (default: the newest in the data folder)")
    .action(restore);
  withSettings(db.command("unlock"))
    .description("unlock a data folder whose holder ran on another host and is gone for good")
    .action(unlock);
  withSettings(db.command("orphans"))
    .description(
      "list the blobs that the database does not name, as after a restore; PostgreSQL services may run meanwhile",
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
  sudo -u mucast mucast db migrate --data-dir /var/lib/mucast
  sudo -u mucast mucast db dump --data-dir /var/lib/mucast
  sudo -u mucast mucast db restore --data-dir /var/lib/mucast
  sudo -u mucast mucast db unlock --data-dir /var/lib/mucast
  DATABASE_URL=postgres://… BLOB_URL=s3://… mucast db orphans --remove

A service dumps its own database to backups/ in its data folder when it starts, every hour and when it ends, if something
has changed. Dumps do not contain blobs. For PostgreSQL (DATABASE_URL), use its own tools instead of dump, restore and unlock. The embedded
database is shown and migrated only while no service has it open, and by the user that owns it.`;

interface DbFlags {
  readonly dataDir?: string;
  readonly settings?: string;
}

async function status(flags: DbFlags): Promise<void> {
  const { version, known, name } = await withDatabase(flags, async (options) => {
    const { openUnmigrated } = await import("../service/database/open-database.ts");
    const { MIGRATIONS, schemaVersion } = await import("../service/database/schema.ts");
    const database = await openUnmigrated(options);
    try {
      const name = await nameOf(options);
      return { version: await schemaVersion(database), known: MIGRATIONS.length, name };
    } finally {
      await database.close();
    }
  });
  process.stdout.write(
    `${name}, version ${version}; this mucast has version ${known}\n${advice(version, known)}\n`,
  );
}

function advice(version: number, known: number): string {
  if (version > known) return "A newer mucast has migrated it. This one refuses it: start the newer program.";
  if (version === known) return "Nothing to migrate.";
  if (version === 0)
    return "The database is new. The service creates its tables when it starts, and so does mucast db migrate.";
  const steps = known - version;
  return `${counted(steps, "step")} to apply, by mucast db migrate or by the next service that starts. Back up the database first: there is no way back.`;
}

async function migrate(flags: DbFlags): Promise<void> {
  let done: Migration | undefined;
  const name = await withDatabase(flags, async (options) => {
    const { openDatabase } = await import("../service/database/open-database.ts");
    const database = await openDatabase(options, (migration) => {
      done = migration;
    });
    await database.close();
    return nameOf(options);
  });
  process.stdout.write(
    done === undefined
      ? `Nothing to migrate in the ${name}.\n`
      : `Migrated the ${name} from version ${done.from} to ${done.to} in ${done.seconds} s.\n`,
  );
}

interface DatabaseOptions {
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly lock?: DataLock;
}

/** Which database a command has used, without its user and password. */
async function nameOf({ databaseUrl, dataDir }: DatabaseOptions): Promise<string> {
  if (databaseUrl === undefined) return `embedded database in ${dataDir}`;
  const { postgresName } = await import("../service/database/postgres.ts");
  return postgresName(databaseUrl);
}

/** @param body gets what opens the database; nothing else has the embedded one open meanwhile. */
async function withDatabase<T>(flags: DbFlags, body: (options: DatabaseOptions) => Promise<T>): Promise<T> {
  const settings = await settingsOf(flags);
  const { database_url: databaseUrl, data_dir: dataDir } = settings;
  if (databaseUrl !== undefined) return await body({ databaseUrl, dataDir });
  return await withFolder(flags, (folder, lock) => {
    const path = join(folder, "database");
    if (!existsSync(path)) throw new MucastError("invalid_request", `there is no ${path}`, { path });
    return body({ databaseUrl: undefined, dataDir: folder, lock });
  });
}

async function dump(flags: DbFlags): Promise<void> {
  const path = await withFolder(flags, async (dataDir, lock) => {
    const { openDatabase } = await import("../service/database/open-database.ts");
    const { dumpDatabase } = await import("../service/database/database-dumps.ts");
    const database = await openDatabase({ databaseUrl: undefined, dataDir, lock });
    try {
      const dumped = await dumpDatabase(dataDir, (write) => database.dump!(write));
      return dumped.path;
    } finally {
      await database.close();
    }
  });
  process.stdout.write(`${path}\n`);
}

async function restore({ from, ...flags }: DbFlags & { from?: string }): Promise<void> {
  await withFolder(flags, async (dataDir, lock) => {
    const { dumpFolder, listDumps, readDump } = await import("../service/database/database-dumps.ts");
    const { checkOwner } = await import("../service/lock/folder-owner.ts");
    const { restoreDatabase } = await import("../service/database/restore-database.ts");
    const { lockFile } = await import("../service/lock/lock-holder.ts");
    // The database itself may be gone.
    checkOwner(dumpFolder(dataDir), lockFile(dataDir));
    const path = from ?? listDumps(dataDir)[0];
    if (path === undefined) {
      const folder = dumpFolder(dataDir);
      throw new MucastError("invalid_request", `there is no dump in ${folder}; give one with --from`, {
        path: folder,
      });
    }
    const read = await readDump(path);
    const { taken_at, operations } = read.header;
    const aside = await restoreDatabase(dataDir, read, () => lock.endIfLost());
    process.stdout.write(`restored the database of ${taken_at} with ${counted(operations, "operation")}, from ${path}
${aside === undefined ? "" : `the previous database is in ${aside}\n`}
It does not contain anything from after ${taken_at}:
  operations submitted since then are unknown, though their outputs are still there;
  for operations that ended since then, the next start looks for their outputs, and runs them again if there are none;
  blobs uploaded since then must be uploaded again;
  API keys created since then are refused, and keys revoked since then are valid again: revoke them now.
`);
  });
}

async function unlock(flags: DbFlags): Promise<void> {
  const dataDir = await dataFolder(flags);
  const { unlockDataFolder } = await import("../service/lock/unlock.ts");
  const { pid, host } = unlockDataFolder(dataDir);
  process.stdout.write(`unlocked ${dataDir}; process ${pid} on ${host} held the lock\n`);
}

async function orphans({
  remove: removes = false,
  root: withRoot = false,
  ...flags
}: DbFlags & { readonly remove?: boolean; readonly root?: boolean }): Promise<void> {
  const { openStorage } = await import("../service/blobs/open-storage.ts");
  const { findOrphans, namesAnyBlob, oldAt, removeOrphan } = await import("../service/blobs/orphans.ts");
  const { store } = await openStorage(await settingsOf(flags), process.env);
  const found = { blobs: 0, bytes: 0, left: 0, young: 0 };
  let allOldAt = new Date(0);
  const onYoung = (blob: ListedBlob) => {
    found.young++;
    allOldAt = new Date(Math.max(allOldAt.getTime(), oldAt(blob).getTime()));
  };
  let name: string;
  try {
    name = await withCurrentTables(flags, async (database, options) => {
      const name = await nameOf(options);
      const mayRemove = removes && (await namesAnyBlob(database, store));
      for await (const orphan of findOrphans(database, store, { onYoung })) {
        const { space, key, size, modifiedAt, isAtRoot } = orphan;
        if (isAtRoot && !withRoot) {
          found.left++;
          continue;
        }
        if (removes && !mayRemove) throw isOfOtherStorage(name);
        if (removes && !(await removeOrphan(database, store, orphan))) continue;
        found.blobs++;
        found.bytes += size;
        const path = space === "" ? key : `${space}/${key}`;
        process.stdout.write(`${path}\t${size}\t${modifiedAt.toISOString()}\n`);
      }
      return name;
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
async function withCurrentTables<T>(
  flags: DbFlags,
  body: (database: Database, options: DatabaseOptions) => Promise<T>,
): Promise<T> {
  return withDatabase(flags, async (options) => {
    const { openUnmigrated } = await import("../service/database/open-database.ts");
    const { MIGRATIONS, schemaVersion } = await import("../service/database/schema.ts");
    const database = await openUnmigrated(options);
    try {
      const version = await schemaVersion(database);
      if (version !== MIGRATIONS.length) {
        const message = `the database has version ${version}, and this mucast ${MIGRATIONS.length}; see mucast db status`;
        throw new MucastError("unavailable", message, { value: version });
      }
      return await body(database, options);
    } finally {
      await database.close();
    }
  });
}

/** Locks the data folder, which no service may have open meanwhile. */
async function withFolder<T>(
  flags: DbFlags,
  body: (dataDir: string, lock: DataLock) => Promise<T>,
): Promise<T> {
  const dataDir = await dataFolder(flags);
  if (!existsSync(dataDir))
    throw new MucastError("invalid_request", `there is no ${dataDir}`, { path: dataDir });
  const { lockDataFolder } = await import("../service/lock/data-lock.ts");
  const lock = lockDataFolder(dataDir);
  try {
    return await body(dataDir, lock);
  } finally {
    lock.release();
  }
}

/** @throws MucastError invalid_request if the database is PostgreSQL. */
async function dataFolder(flags: DbFlags): Promise<string> {
  const settings = await settingsOf(flags);
  if (settings.database_url === undefined) return settings.data_dir;
  const message = "the database is PostgreSQL (DATABASE_URL); use its own tools, such as pg_dump";
  throw new MucastError("invalid_request", message, { path: "DATABASE_URL" });
}

async function settingsOf({ dataDir, settings: file }: DbFlags): Promise<ServiceSettings> {
  const { loadSettings } = await import("../service/settings/load-settings.ts");
  return loadSettings({ data_dir: dataDir, settings: file }, process.env);
}
