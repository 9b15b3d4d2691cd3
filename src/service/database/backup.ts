import { existsSync } from "node:fs";
import { link, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { requireSqlite } from "./sqlite.ts";

/**
 * Copies the database of a data folder as it is at this moment, while services run and write. The file has its name once it is complete
 * and on the disk.
 * @throws MucastError invalid_request if the file exists or there is no database; output_failed.
 */
export async function backUpSqlite(dataDir: string, file: string): Promise<void> {
  const source = requireSqlite(dataDir);
  if (existsSync(file)) throw exists(file);
  const draft = `${file}.${process.pid}.tmp`;
  try {
    // Its owner alone may read it, like the database.
    await (await open(draft, "wx", 0o600)).close();
    const database = new DatabaseSync(source, { timeout: 10_000 });
    try {
      database.prepare("vacuum into ?").run(draft);
    } finally {
      database.close();
    }
    await sync(draft);
    // A link, unlike a rename, replaces nothing.
    await link(draft, file);
    await sync(dirname(file));
  } catch (cause) {
    if (codeOf(cause) === "EEXIST") throw exists(file);
    const message = `the backup ${file} could not be written: ${causeOf(cause)}`;
    throw new MucastError("output_failed", message, { path: file }, { cause });
  } finally {
    await rm(draft, { force: true });
  }
}

function exists(file: string): MucastError {
  return new MucastError("invalid_request", `${file} exists already; give a new file`, { path: file });
}

async function sync(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
