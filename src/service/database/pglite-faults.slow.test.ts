/** Faults of the data folder that pass, in a process of its own each: the limits of a process stand for a full disk. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { copyNewDatabase } from "../../../test/servers/database-template.testing.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-pglite-faults-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** What each script begins with: an open database with an empty table, and `told`, which it prints. */
const BEGIN = `
  import { spawnSync } from "node:child_process";
  import { closeSync, openSync, readdirSync } from "node:fs";
  import { openPglite } from ${JSON.stringify(new URL("pglite.ts", import.meta.url).href)};
  const database = await openPglite(process.argv[1]);
  const told = {};
  const answer = async (text) => {
    try {
      return (await database.query(text)).rows;
    } catch (error) {
      return [error.code, error.message, error.cause?.message].join(" ");
    }
  };
  await answer("create table noted (text text)");
  const insert = "insert into noted select repeat('x', 100) from generate_series(1, 2000)";
  const count = "select count(*)::int as rows from noted";
`;
const END = `
  await database.close();
  process.stdout.write(JSON.stringify(told));
  process.exit();
`;

async function run(name: string, limit: string, script: string): Promise<Record<string, unknown>> {
  const dataDir = join(folder, name);
  await copyNewDatabase(dataDir);
  const node = [
    process.execPath,
    "--expose-gc",
    "--input-type=module",
    "-e",
    BEGIN + script + END,
    join(dataDir, "database"),
  ];
  const ended = spawnSync("sh", ["-c", `ulimit -S ${limit} && exec "$@"`, "sh", ...node], {
    encoding: "utf8",
    timeout: 600_000,
    killSignal: "SIGKILL",
  });
  assert.equal(ended.status, 0, `${ended.signal} ${ended.stderr.slice(-2_000)}`);
  return JSON.parse(ended.stdout);
}

test("a database that could create no file does so once it can", async () => {
  const told = await run(
    "descriptors",
    "-n 200",
    `
    const taken = [];
    const take = () => {
      try {
        for (;;) taken.push(openSync("/dev/null"));
      } catch {}
    };
    take();
    told.inserted = [await answer(insert)];
    // PostgreSQL gives up its own descriptors one by one, until it has none to open a file with.
    for (let refused = 0; refused < 3; ) {
      take();
      if (typeof (await answer("select pg_read_file('PG_VERSION')")) === "string") refused++;
    }
    told.created = [await answer("create table another (n int)")];
    for (const descriptor of taken) closeSync(descriptor);
    told.created.push(await answer("create table another (n int)"));
    told.inserted.push(await answer(insert));
    told.rows = await answer(count);
  `,
  );
  const { created: [refused, created] = [], inserted, rows } = told as Record<string, unknown[]>;
  assert.match(String(refused), /^unavailable .*: No file descriptors available$/);
  assert.deepEqual({ created, inserted, rows }, { created: [], inserted: [[], []], rows: [{ rows: 4000 }] });
});

test("a database that cannot write its log refuses, and is opened again once it can, with what was committed", async () => {
  const told = await run(
    "log",
    "-f unlimited",
    `
    await answer(insert);
    // The log goes on at the start of a segment of 16 MiB, of which half can be written.
    await answer("select pg_switch_wal()");
    await answer(insert);
    spawnSync("prlimit", ["--pid", String(process.pid), "--fsize=8388608:"]);
    let missed = 0;
    const heard = [];
    const unlisten = await database.listen("heard", (payload) => heard.push(payload), () => missed++);
    const descriptors = () => readdirSync("/proc/self/fd").length;
    told.before = descriptors();
    // More than the segment has room for.
    const log = "select count(pg_logical_emit_message(true, 'test', repeat('x', 1000000)))::int as messages from generate_series(1, 20)";
    const refusals = async () => [
      await answer(log),
      await answer(count),
      await database.transaction((statements) => statements.query(insert)).catch(({ code }) => code),
    ];
    told.refused = [...(await refusals()), ...(await refusals())];
    told.meanwhile = descriptors();
    const held = async () => {
      for (let turn = 0; turn < 3; turn++) {
        await new Promise(setImmediate);
        gc();
      }
      return Math.round(process.memoryUsage().external / 2 ** 20);
    };
    told.held = [await held()];
    let now = performance.now();
    performance.now = () => now;
    for (let tries = 0; tries < 3; tries++) {
      now += 60_000;
      await answer(count);
    }
    told.held.push(await held());
    spawnSync("prlimit", ["--pid", String(process.pid), "--fsize=unlimited"]);
    // The database is not tried again at once.
    told.soon = await answer(count);
    now += 60_000;
    told.rows = await answer(count);
    told.logged = await answer(log);
    told.schema = await answer("select current_schema() as name");
    told.after = descriptors();
    await answer("notify heard, 'again'");
    await unlisten();
    await answer("notify heard, 'not this'");
    told.heard = [missed, ...heard];
  `,
  );
  const { before, meanwhile, after, held, refused, soon, ...rest } = told as Record<string, unknown>;
  for (const answer of [...(refused as string[]), String(soon)]) assert.match(answer, /^unavailable/);
  assert.deepEqual(rest, {
    rows: [{ rows: 4000 }],
    logged: [{ messages: 20 }],
    schema: [{ name: "mucast" }],
    heard: [1, "again"],
  });
  // Each try takes 190 MiB, and lets them go where it fails.
  const [first, later] = held as [number, number];
  assert.ok(later < first + 100, `${first} MiB, and ${later} MiB after three more tries`);
  // A database has about 60 files open, and closes those of a crashed one.
  const counts = [before, meanwhile, after].map(Number) as [number, number, number];
  assert.ok(counts[1] < counts[0] - 30 && counts[2] < counts[0] + 30, counts.join());
});
