import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { findBlob } from "../store/blob-records.ts";
import { readOperation } from "../store/operation-rows.ts";
import { onEachDatabase } from "./databases.testing.ts";
import { MIGRATIONS, migrate } from "./schema.ts";

onEachDatabase((tested) => {
  test("times, JSON and lists are read back unchanged", async () => {
    const { rows } = await tested
      .database()
      .query<{ moment: Date; json: unknown; words: string[]; count: number }>(
        "select $1::timestamptz as moment, $2::json as json, $3::text[] as words, count(*)::int from operations",
        ["2026-01-02T03:04:05.678Z", JSON.stringify({ a: [1, null] }), ["x", "y z"]],
      );
    const [row] = rows;
    assert.equal(row!.moment.toISOString(), "2026-01-02T03:04:05.678Z");
    assert.deepEqual([row!.json, row!.words, row!.count], [{ a: [1, null] }, ["x", "y z"], 0]);
  });

  test("a transaction that throws changes nothing", async () => {
    const database = tested.database();
    const boom = new Error("boom");
    const body = database.transaction(async (statements) => {
      await statements.query("insert into blobs (name, caller) values ('rolled-back', 'me')");
      throw boom;
    });
    await assert.rejects(body, boom);
    const { rows } = await database.query("select * from blobs where name = 'rolled-back'");
    assert.deepEqual(rows, []);
  });

  test("a notification arrives with its payload", async () => {
    const database = tested.database();
    const heard = Promise.withResolvers<string>();
    const end = await database.listen("a_channel", heard.resolve, () => undefined);
    await database.query("select pg_notify('a_channel', 'started:1')");
    assert.equal(await heard.promise, "started:1");
    await end();
  });

  test("a second migration changes nothing, and a database of a newer program is refused", async () => {
    const database = tested.database();
    const versions = () => database.query("select version from migrations order by version");
    const before = await versions();
    await migrate(database);
    assert.deepEqual(await versions(), before);
    await database.query("insert into migrations (version) values (999)");
    await assert.rejects(
      migrate(database),
      (error) => error instanceof MucastError && /version 999, made by a newer mucast/.test(error.message),
    );
    await database.query("delete from migrations where version = 999");
  });

  test("operations of the first version stay, with the columns added since", async () => {
    const database = tested.database();
    await database.exec("drop schema mucast cascade; create schema mucast");
    await database.exec(MIGRATIONS[0]!.join(";"));
    await database.exec(
      "create table mucast.migrations (version int primary key, applied_at timestamptz default now())",
    );
    await database.query("insert into migrations (version) values (1)");
    await database.query(
      `insert into operations (id, caller, operation, feature_url, data_extractor_url, config, config_sha256, body_sha256)
       values ('old', 'local', 'run_ml_job', '', '', '', '', '')`,
    );
    await migrate(database);
    const { id, warnings, failures, failure_counts } = (await readOperation(database, "old"))!;
    assert.deepEqual([id, warnings, failures, failure_counts], ["old", [], [], null]);
  });

  test("blobs and outputs of the first version stay with their owners and keep their keys", async () => {
    const database = tested.database();
    await database.exec("drop schema mucast cascade; create schema mucast");
    for (const step of MIGRATIONS[0]!) await database.query(step);
    await database.exec(`
      create table migrations (version int primary key, applied_at timestamptz not null default now());
      insert into migrations (version) values (1);
      insert into blobs (name, caller) values ('feature_engine_1.json', 'key:ann'), ('ml_engine_old.json', 'key:ann');
      insert into operations (id, caller, operation, feature_url, data_extractor_url, config, config_sha256, body_sha256, status)
      select id, 'key:ben', operation, '/data/feature_engine_2.json', '', '', '', '', status
      from (values ('a', 'run_ml_job', 'Succeeded'), ('b', 'run_dl_job', 'Succeeded'), ('c', 'run_ml_job', 'Running'))
        as old (id, operation, status);
    `);
    await migrate(database);
    const { rows } = await database.query("select caller, name, space, bytes from blobs order by name");
    assert.deepEqual(
      rows,
      [
        ["key:ann", "feature_engine_1.json"],
        ["key:ben", "ml_engine_a.json"],
        ["key:ann", "ml_engine_old.json"],
        ["key:ben", "nn_engine_b.json"],
      ].map(([caller, name]) => ({ caller, name, space: "", bytes: null })),
    );
    const usage = await database.query(
      "select caller, bytes::int, blobs::int from blob_usage order by caller",
    );
    assert.deepEqual(usage.rows, [
      { caller: "key:ann", bytes: 0, blobs: 2 },
      { caller: "key:ben", bytes: 0, blobs: 2 },
    ]);
    assert.deepEqual(await findBlob(database, "key:ben", "ml_engine_c.json"), {
      name: "ml_engine_c.json",
      space: "",
    });
  });

  if (tested.kind === "pglite") return;

  test("of concurrent migrations one changes the tables", async () => {
    await tested.database().exec("drop schema mucast cascade; create schema mucast");
    await Promise.all([tested.another(), tested.another(), tested.another()]);
    const { rows } = await tested.database().query("select version from migrations");
    assert.equal(rows.length, MIGRATIONS.length);
  });
});
