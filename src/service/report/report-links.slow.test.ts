import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { KeyStore } from "../auth/key-store.ts";
import { newRow, onEachDatabase, removeOperations } from "../database/databases.testing.ts";
import { ReportLinks } from "./reports.ts";

const USED = { code: "not_found" };

onEachDatabase((tested) => {
  const linksOf = () => new ReportLinks(tested.database(), new KeyStore(tested.database()));
  const ANN = { subject: "oidc:ann" };

  beforeEach(async () => {
    await removeOperations(tested.database());
    await insert("op", ANN.subject);
  });

  async function insert(id: string, caller: string): Promise<void> {
    await tested.database().write((db) => db.insertInto("operations").values(newRow(id, caller)).execute());
  }

  const remove = (id: string) =>
    tested.database().write((db) => db.deleteFrom("operations").where("id", "=", id).execute());

  test("a link is taken once, whichever service is asked, and looking at it leaves it", async () => {
    const { token, expiresAt } = await linksOf().create(ANN, ["op"]);
    assert.match(token, /^[\w-]{43}$/);
    const seconds = (expiresAt.getTime() - Date.now()) / 1_000;
    assert.ok(seconds > 0 && seconds < 120, `${seconds}`);
    const opened = { caller: { ...ANN, scopes: new Set(["read"]) }, operationIds: ["op"] };
    assert.deepEqual(await linksOf().find(token), opened);
    const taken = await Promise.allSettled(
      [linksOf(), linksOf(), linksOf()].map((links) => links.take(token)),
    );
    const [won, ...others] = taken.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const { restore, ...link } = won!;
    assert.deepEqual([link, others], [opened, []]);
    await assert.rejects(linksOf().find(token), USED);
    await restore();
    assert.deepEqual(await linksOf().find(token), opened);
    await linksOf().take(token);
    await assert.rejects(linksOf().find(token), USED);
    await assert.rejects(linksOf().take("never made"), USED);
  });

  test("a link of several operations keeps their order, and needs all of them, of its caller", async () => {
    for (const id of ["b", "a"]) await insert(id, ANN.subject);
    await insert("his", "oidc:ben");
    const { token } = await linksOf().create(ANN, ["op", "b", "a"]);
    const taken = await linksOf().take(token);
    assert.deepEqual(taken.operationIds, ["op", "b", "a"]);
    await taken.restore();
    assert.deepEqual((await linksOf().take(token)).operationIds, ["op", "b", "a"]);
    for (const others of [
      ["op", "his"],
      ["his", "op"],
      ["op", "gone"],
    ]) {
      await assert.rejects(linksOf().create(ANN, others), USED);
    }
    await remove("a");
    await taken.restore();
    await assert.rejects(linksOf().find(token), USED);
  });

  test("a link ends after a minute, and the database has only its hash", async () => {
    const database = tested.database();
    const { token } = await linksOf().create(ANN, ["op"]);
    const links = () => database.db.selectFrom("report_links").selectAll().execute();
    assert.ok(!JSON.stringify(await links()).includes(token));
    await database.write((db) =>
      db
        .updateTable("report_links")
        .set({ expires_at: database.time(-1) })
        .execute(),
    );
    await assert.rejects(linksOf().take(token), USED);
    await linksOf().create(ANN, ["op"]);
    assert.equal((await links()).length, 1, "ended ones are removed");
  });

  test("a link opens nothing once its key is revoked, or its operation removed", async () => {
    const database = tested.database();
    const keys = new KeyStore(database);
    const { key } = await keys.create("x", ["read"]);
    await insert("keyed", key.subject);
    const [kept, revoked] = [await linksOf().create(key, ["keyed"]), await linksOf().create(key, ["keyed"])];
    assert.equal((await linksOf().take(kept.token)).caller.subject, key.subject);
    await keys.revoke(key.id);
    await assert.rejects(linksOf().take(revoked.token), USED);
    const { token } = await linksOf().create(ANN, ["op"]);
    await remove("op");
    await assert.rejects(linksOf().take(token), USED);
  });
});
