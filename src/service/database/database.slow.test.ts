import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { newRow, onEachDatabase, storeQueued } from "./databases.testing.ts";
import { migrate, VERSION } from "./schema.ts";

onEachDatabase((tested) => {
  test("times, JSON and lists are read back unchanged, whatever their texts are", async () => {
    const database = tested.database();
    const created_at = new Date("2026-01-02T03:04:05.678Z");
    const warnings = [{ code: "no_prices", message: "\u0000 \ud800 \u2028", ticker: "😀" }] as const;
    const tags = ["x", 'y "z"', ""];
    const stored = { tags: JSON.stringify(tags), warnings: JSON.stringify(warnings), created_at };
    await database.write((db) =>
      db
        .insertInto("operations")
        .values({ ...newRow("op", "me"), ...stored })
        .execute(),
    );
    const query = database.db.selectFrom("operations").selectAll();
    const row = (await query.where("created_at", "=", created_at).executeTakeFirst())!;
    assert.deepEqual(
      [row.created_at, row.warnings, row.tags, row.progress],
      [created_at, warnings, tags, null],
    );
    const tagged = async (...wanted: string[]) =>
      (await query.where(database.hasAll("tags", wanted)).execute()).length;
    assert.deepEqual([await tagged('y "z"', "x"), await tagged("x", "y")], [1, 0]);
    const { seconds } = await database.db
      .selectFrom("operations")
      .select(database.secondsSince("created_at").as("seconds"))
      .executeTakeFirstOrThrow();
    assert.ok(Math.abs(seconds - (Date.now() - created_at.getTime()) / 1_000) < 3_600);
  });

  test("a transaction that throws changes nothing, and the next one writes", async () => {
    const database = tested.database();
    const boom = new Error("boom");
    const insert = (id: string, error?: Error) =>
      database.write(async (db) => {
        await db.insertInto("operations").values(newRow(id, "me")).execute();
        if (error) throw error;
      });
    await assert.rejects(insert("rolled-back", boom), boom);
    await insert("stored");
    const rows = await database.db
      .selectFrom("operations")
      .select("id")
      .where("id", "in", ["rolled-back", "stored"])
      .execute();
    assert.deepEqual(rows, [{ id: "stored" }]);
  });

  test("a notification arrives once its transaction has committed, and never from one that is rolled back", async () => {
    const database = tested.database();
    const heard: string[] = [];
    const arrived = Promise.withResolvers<void>();
    const onNotification = (payload: string) => {
      heard.push(payload);
      if (payload === "queued:2") arrived.resolve();
    };
    const end = await database.listen({ onNotification, onMissed: () => undefined });
    await storeQueued(database, "0");
    const rolledBack = database.write(async (db) => {
      await database.insertEvents(db, [{ operation_id: "0", seq: 2, type: "started", data: "{}" }]);
      throw new Error("boom");
    });
    await assert.rejects(rolledBack);
    await storeQueued(database, "2");
    await arrived.promise;
    assert.deepEqual(
      heard.filter((payload) => payload !== "queued:0"),
      ["queued:2"],
    );
    await end();
  });

  test("what another service commits is noticed", async () => {
    const noticed = Promise.withResolvers<void>();
    const end = await tested.database().listen({
      onNotification: () => noticed.resolve(),
      onMissed: () => noticed.resolve(),
    });
    const another = await tested.another();
    await storeQueued(another, "1");
    await noticed.promise;
    await end();
  });

  test("a second migration changes nothing, and the tables of a newer program are refused", async () => {
    const database = tested.database();
    const { from, to } = await migrate(database);
    assert.deepEqual([from, to], [VERSION, VERSION]);
    await database.write((db) =>
      db.insertInto("migrations").values({ version: 999, applied_at: new Date() }).execute(),
    );
    await assert.rejects(
      migrate(database),
      (error) => error instanceof MucastError && /version 999, made by a newer mucast/.test(error.message),
    );
    await database.write((db) => db.deleteFrom("migrations").where("version", "=", 999).execute());
  });
});
