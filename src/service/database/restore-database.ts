import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { RESTORED } from "../lock/folder-owner.ts";
import { openPglite } from "./pglite.ts";
import { makeCluster } from "./pglite-cluster.ts";
import type { Dump } from "./pglite-dump.ts";
import { MIGRATIONS, migrate } from "./schema.ts";

/**
 * Replaces the database of a data folder, whose lock the caller holds, by that of a dump. The previous one is kept beside it.
 * @returns the folder of the previous one; undefined if there was none.
 * @throws MucastError unavailable for a dump of a newer program, output_failed; then nothing has changed.
 */
export async function restoreDatabase(
  dataDir: string,
  dump: Dump,
  checkLock: () => void,
): Promise<string | undefined> {
  const { schema } = dump.header;
  if (schema > MIGRATIONS.length) {
    const message = `the dump has tables of version ${schema}, made by mucast ${dump.header.mucast}; this one knows versions up to ${MIGRATIONS.length}`;
    throw new MucastError("unavailable", message, { value: schema });
  }
  const [folder, restored] = [join(dataDir, "database"), join(dataDir, RESTORED)];
  const unfinished = join(dataDir, "database.restoring");
  await rm(unfinished, { recursive: true, force: true });
  await rm(restored, { recursive: true, force: true });
  try {
    await makeCluster(unfinished);
    await fill(unfinished, dump);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
  checkLock();
  await rename(unfinished, restored);
  const aside = existsSync(folder)
    ? `${folder}.${new Date().toISOString().replaceAll(/[:.]/g, "-")}`
    : undefined;
  if (aside !== undefined) await rename(folder, aside);
  // If this process ends here, the next start of a service moves the restored database into place.
  await rename(restored, folder);
  return aside;
}

async function fill(folder: string, dump: Dump): Promise<void> {
  const database = await openPglite(folder);
  try {
    await migrate(database, dump.header.schema);
    await database.load(dump);
    await migrate(database);
    // Queued and running operations may have ended since. Like attempts that a service left, their outputs are looked up before they
    // run again. Without an output, the attempt does not count as lost, like one that ends with a draining service.
    await database.query(
      `update operations
       set attempt = attempt + case when status = 'NotStarted' then 1 else 0 end,
         drained_attempt = attempt + case when status = 'NotStarted' then 1 else 0 end,
         status = 'Running', owner = null, lease_until = now(), attempt_started_at = now(),
         started_at = coalesce(started_at, now())
       where status in ('NotStarted', 'Running')`,
    );
  } finally {
    await database.close();
  }
}
