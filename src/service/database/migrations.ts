import { MucastError } from "../../contract/errors/errors.ts";
import type { Database } from "./database.ts";
import { MIGRATIONS } from "./schema.ts";

/** Only one program at a time changes the tables; the number is ours alone. */
const ADVISORY_LOCK = 7_283_115_001;

/**
 * Brings the tables to this program's version: numbered steps, forward only, each once, all in one transaction. On large
 * tables a step takes minutes, and services that start meanwhile wait for it.
 * @throws MucastError unavailable where a newer program has been here already.
 */
export async function migrate(database: Database): Promise<void> {
  await database.transaction(async (statements) => {
    await statements.query("select pg_advisory_xact_lock($1)", [ADVISORY_LOCK]);
    await statements.query(
      "create table if not exists mucast.migrations (version int primary key, applied_at timestamptz not null default now())",
    );
    const { rows } = await statements.query<{ version: number | null }>(
      "select max(version) as version from mucast.migrations",
    );
    const done = rows[0]?.version ?? 0;
    if (done > MIGRATIONS.length) throw tooNew(done);
    for (const [index, steps] of MIGRATIONS.entries()) {
      if (index < done) continue;
      for (const step of steps) await statements.query(step);
      await statements.query("insert into mucast.migrations (version) values ($1)", [index + 1]);
    }
  }, "unhurried");
}

function tooNew(version: number): MucastError {
  return new MucastError(
    "unavailable",
    `the database has version ${version}, made by a newer mucast; this one knows versions up to ${MIGRATIONS.length}. ` +
      "Start the newer program, or give this one a database of its own",
    { value: version },
  );
}
