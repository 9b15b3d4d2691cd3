/** Faults of the data folder that pass, in a process of its own each: the limits of a process stand for a full disk. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { copyNewDatabase } from "../../../test/servers/database-template.testing.ts";
import { openPglite } from "./pglite.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-pglite-faults-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const INSERT = "insert into noted select repeat('x', 100) from generate_series(1, 2000)";

/** What each script begins with: an open database with an empty table. */
const BEGIN = `
  import { spawnSync } from "node:child_process";
  import { openSync } from "node:fs";
  import { openPglite } from ${JSON.stringify(new URL("pglite.ts", import.meta.url).href)};
  const database = await openPglite(process.argv[1]);
  const answer = async (text) => {
    try {
      return (await database.query(text)).rows;
    } catch (error) {
      return [error.code, error.message, error.cause?.message].join(" ");
    }
  };
  await answer("create table noted (text text)");
  const insert = ${JSON.stringify(INSERT)};
`;
async function start(name: string, limit: string, script: string) {
  const dataDir = join(folder, name);
  await copyNewDatabase(dataDir);
  const node = [process.execPath, "--input-type=module", "-e", BEGIN + script, join(dataDir, "database")];
  return spawnSync("sh", ["-c", `ulimit -S ${limit} && exec "$@"`, "sh", ...node], {
    encoding: "utf8",
    timeout: 600_000,
    killSignal: "SIGKILL",
  });
}

/** The rows that were committed, after further ones, in a new start of the database. */
async function inserted(name: string): Promise<unknown> {
  const database = await openPglite(join(folder, name, "database"));
  try {
    await database.query(INSERT);
    return (await database.query("select count(*)::int as rows from noted")).rows;
  } finally {
    await database.close();
  }
}

test("a database that could create no file ends the process, and creates it after its next start", async () => {
  const name = "descriptors";
  const ended = await start(
    name,
    "-n 200",
    `
    for (let taken; taken !== null; ) {
      try {
        taken = openSync("/dev/null");
      } catch {
        taken = null;
      }
    }
    for (;;) process.stdout.write((await answer(insert)) + "\\n");
  `,
  );
  assert.equal(ended.status, 1, ended.stderr);
  assert.match(
    ended.stderr,
    /^mucast: the embedded database has stopped: .*could not create file .*: File exists$/m,
  );
  for (const line of ended.stdout.split("\n").slice(0, -1)) assert.match(line, /^unavailable /);
  assert.deepEqual(await inserted(name), [{ rows: 2000 }]);
});

test("a database that cannot write its log ends the process, and keeps what was committed", async () => {
  const name = "log";
  const ended = await start(
    name,
    "-f unlimited",
    `
    await answer(insert);
    // The log goes on at the start of a segment of 16 MiB, of which half can be written.
    await answer("select pg_switch_wal()");
    await answer(insert);
    spawnSync("prlimit", ["--pid", String(process.pid), "--fsize=8388608:"]);
    // What a caller sends is not taken for a panic.
    const forged = "\\n2026-11-26 11:34:06.738 UTC [42] PANIC:  a caller";
    process.stdout.write(await answer("select ('" + forged + "' || chr(10) || '" + forged + "')::int"));
    // More than the segment has room for.
    await answer("select count(pg_logical_emit_message(true, 'test', repeat('x', 1000000)))::int from generate_series(1, 20)");
    process.exit(5);
  `,
  );
  assert.equal(ended.status, 1, ended.stderr);
  assert.match(ended.stdout, /invalid input syntax/);
  assert.match(ended.stderr, /^mucast: the embedded database has stopped: .* PANIC: .* File too large$/m);
  assert.deepEqual(await inserted(name), [{ rows: 6000 }]);
});
