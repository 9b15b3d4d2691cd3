import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { Caller } from "../auth/caller.ts";
import { KeyStore, secretHash } from "../auth/key-store.ts";
import type { BlobAddress } from "../blobs/blobs.ts";
import { newRow, onEachDatabase, removeOperations } from "../database/databases.testing.ts";
import { SUCCEEDED } from "../http/examples.ts";
import { type DrawPage, ReportLinks, Reports } from "./reports.ts";

const CALLER: Caller = { subject: "key:1", scopes: new Set(["read"]) };
const NEVER = new AbortController().signal;

/** Reports of outputs of one version in a fake store. */
function reportsOf(output: { etag: string | undefined }, draw: DrawPage) {
  const stat = async () => (output.etag === undefined ? undefined : { size: 1, etag: output.etag });
  const store = { stat } as unknown as BlobAddress["store"];
  const blobs = { find: async () => ({ space: "", store, key: "data/x.json" }) };
  return new Reports({ blobs, draw, cacheBytes: 6 });
}

test("a report is drawn once until its output changes; those used last are kept", async () => {
  const output = { etag: '"1"' };
  let drawn = 0;
  const reports = reportsOf(output, async () => Buffer.from(`${++drawn}st`));
  const pages: string[] = [];
  for (const etag of ["1", "1", "2", "1", "3", "1", "2"]) {
    output.etag = `"${etag}"`;
    pages.push(String(await reports.page(await reports.find(CALLER, [SUCCEEDED]), NEVER)));
  }
  assert.deepEqual(pages, ["1st", "1st", "2st", "1st", "3st", "1st", "4st"]);
});

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

  test("a link is used once, whichever service is asked, and looking at it leaves it", async () => {
    const { token, expiresAt } = await linksOf().create(ANN, ["op"]);
    assert.match(token, /^[\w-]{43}$/);
    const seconds = (expiresAt.getTime() - Date.now()) / 1_000;
    assert.ok(seconds > 0 && seconds < 120, `${seconds}`);
    const opened = { caller: { ...ANN, scopes: new Set(["read"]) }, operationIds: ["op"] };
    assert.deepEqual(await linksOf().find(token), opened);
    const used = await Promise.allSettled([1, 2, 3].map(() => linksOf().use(token)));
    assert.equal(used.filter(({ status }) => status === "fulfilled").length, 1);
    await assert.rejects(linksOf().find(token), USED);
    await assert.rejects(linksOf().find("never made"), USED);
    await assert.rejects(linksOf().use("never made"), USED);
  });

  test("a link ends after a minute, unless its report is being drawn, and the database has only its hash", async () => {
    const database = tested.database();
    const { token } = await linksOf().create(ANN, ["op"]);
    const links = () => database.db.selectFrom("report_links").selectAll().execute();
    assert.ok(!JSON.stringify(await links()).includes(token));
    const end = (seconds: number) =>
      database.write(async (db) => {
        const expired = db.updateTable("report_links").set({ expires_at: database.time(-seconds) });
        await expired.where("hash", "=", secretHash(token)).execute();
      });
    await end(1);
    await assert.rejects(linksOf().find(token), USED);
    await linksOf().create(ANN, ["op"]);
    assert.equal((await links()).length, 2);
    await end(3_601);
    const { token: other } = await linksOf().create(ANN, ["op"]);
    assert.equal((await links()).length, 2, "old ones are removed");
    await end(1);
    await linksOf().use(other);
  });

  test("a link opens nothing once its key is revoked, or its operation removed", async () => {
    const keys = new KeyStore(tested.database());
    const { key } = await keys.create("x", ["read"]);
    await insert("keyed", key.subject);
    const { token } = await linksOf().create(key, ["keyed"]);
    assert.equal((await linksOf().find(token)).caller.subject, key.subject);
    await keys.revoke(key.id);
    await assert.rejects(linksOf().find(token), USED);
    const removed = await linksOf().create(ANN, ["op"]);
    await removeOperations(tested.database());
    await assert.rejects(linksOf().find(removed.token), USED);
  });
});
