import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { isRunning } from "../../src/contract/machine/process-stat.ts";
import { until } from "../end-to-end/commands/command.ts";
import { type Postgres, startPostgres } from "./postgres.testing.ts";

let postgres: Postgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

/** Runs one statement on a separate connection. */
async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

test("databases are separate, and committed data outlive a restart and a kill", async () => {
  const [one, other] = [await postgres.newDatabase(), await postgres.newDatabase()];
  await query(one, "create table kept as select 1 as row");
  await assert.rejects(query(other, "select row from kept"), /does not exist/);
  await postgres.restart();
  assert.deepEqual(await query(one, "select row from kept"), [{ row: 1 }]);
  await query(one, "insert into kept values (2)");
  await postgres.kill9();
  await assert.rejects(query(one, "select 1"), /ECONNREFUSED/);
  await postgres.up();
  assert.deepEqual(await query(one, "select row from kept order by row"), [{ row: 1 }, { row: 2 }]);
});

test("ends with the process that started it, however that ends", async () => {
  const module = JSON.stringify(new URL("postgres.testing.ts", import.meta.url).href);
  const script = `
    const { startPostgres } = await import(${module});
    const { url } = await startPostgres();
    console.log(url);
    setInterval(() => {}, 1e6);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  const url = String(line).trim();
  const [{ pid, folder }] = (await query(
    url,
    "select (regexp_split_to_array(pg_read_file('postmaster.pid'), '\\n'))[1]::int as pid, current_setting('data_directory') as folder",
  )) as [{ pid: number; folder: string }];
  assert.ok(isRunning(pid), folder);
  child.kill("SIGKILL");
  await until(async () => (isRunning(pid) || existsSync(folder) ? undefined : true));
});
