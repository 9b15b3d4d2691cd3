/** A database of mucast 0.2.0, dumped by pg_dump after its service was killed amid a job. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import pg from "pg";
import type { MucastError } from "../../contract/errors/errors.ts";
import { keyAuthenticate } from "../auth/authenticate.ts";
import { KeyStore } from "../auth/key-store.ts";
import { listOperations } from "../operations/operations.ts";
import { claimOperation, readOperation } from "../store/attempts.ts";
import { readEvents } from "../store/events.ts";
import { viewOf } from "../store/operation-view.ts";
import { claimDeliveries } from "../webhooks/deliverer.ts";
import { type Database, openDatabase } from "./database.ts";
import { newPostgresUrl } from "./databases.testing.ts";

const DUMP = gunzipSync(readFileSync(new URL("./database-of-0.2.0.sql.gz", import.meta.url))).toString();
const EARLY = "mucast_d5193db47ee44386_8BiqeQRNYl-UkaSNNGKM76zjIF2mQ8kUE9V_Q4Tmu1I";
const REVOKED = "mucast_54d5960df4320977_Gl7zcEUZQtzvPMajlmF1pRvqQc7_9Nor7_U6Ki_3z7U";
const [DONE, RUNNING, QUEUED, CANCELED] = [
  "99fb5134-8d0a-4a55-9896-604d302848ed",
  "f4db06ed-aa33-4115-8186-2487ad101d68",
  "d7d7f1c2-cf72-471a-886a-d5f3b1549f3e",
  "311d9d34-404a-4226-b884-48f04da4bd79",
] as const;

describe("a database of 0.2.0", () => {
  let url: string;
  let operator: pg.Client;
  let database: Database | undefined;
  before(async () => {
    url = await newPostgresUrl();
    operator = new pg.Client({ connectionString: url });
    await operator.connect();
    await operator.query(DUMP);
    await operator.query("reset search_path");
  });
  after(async () => {
    await database?.close();
    await operator.end();
  });

  const open = () => openDatabase({ data_dir: "", database_url: url });
  const unavailable = (message: RegExp) => (error: MucastError) =>
    error.code === "unavailable" && message.test(error.message);

  test("it is refused while a service of 0.2.0 holds a lease, and below its version", async () => {
    const lease = (seconds: number) =>
      operator.query(
        "update mucast.operations set lease_until = now() + make_interval(secs => $1) where owner is not null",
        [seconds],
      );
    await lease(20);
    await assert.rejects(
      open(),
      unavailable(/a service of mucast 0\.2\.0 still runs 1 operation of this database/),
    );
    await lease(-1);
    await operator.query("delete from mucast.migrations where version = 13");
    await assert.rejects(open(), unavailable(/has version 12; start mucast 0\.2\.0 on it once/));
    await operator.query("insert into mucast.migrations (version) values (13)");
  });

  test("after its migration every key, operation, event, delivery, blob and link is answered as before", async () => {
    database = await open();
    const keys = new KeyStore(database);
    const { subject, scopes } = await keyAuthenticate(keys)(`Bearer ${EARLY}`);
    assert.deepEqual([...scopes], ["read", "write"]);
    await assert.rejects(keyAuthenticate(keys)(`Bearer ${REVOKED}`), { code: "unauthorized" });

    const states = [DONE, RUNNING, QUEUED, CANCELED].map(
      async (id) => (await readOperation(database!, id))?.status,
    );
    assert.deepEqual(await Promise.all(states), ["Succeeded", "Running", "NotStarted", "Canceled"]);
    const done = viewOf((await readOperation(database, DONE))!);
    assert.deepEqual([done.tags, done.result?.output_name], [["nightly", 'a "b"'], `ml_engine_${DONE}.json`]);
    assert.ok(done.warnings.length > 0 && done.summary !== undefined);
    assert.equal(
      JSON.parse((await readOperation(database, DONE))!.payload!).config["ML params"].model,
      "ridge",
    );
    const page = await listOperations(database, subject, { tag: ["nightly"], limit: 10 });
    assert.deepEqual(
      page.map(({ id }) => id),
      [QUEUED, DONE],
    );
    const events = await readEvents(database, DONE, 0, 100);
    assert.deepEqual([events[0]?.type, events.at(-1)?.type], ["queued", "succeeded"]);
    const blobs = database.db.selectFrom("blobs").select("name").where("caller", "=", subject);
    assert.deepEqual((await blobs.execute()).map(({ name }) => name).toSorted(), [
      "data_extractor_sp500.parquet",
      "feature_engine_sp500.parquet",
      `ml_engine_${DONE}.json`,
    ]);
    const [link] = await database.db.selectFrom("report_links").selectAll().execute();
    assert.deepEqual([link?.operation_id, link?.further_ids], [DONE, []]);
    await database.write((db) =>
      db
        .updateTable("webhook_deliveries")
        .set({ next_at: new Date(0) })
        .execute(),
    );
    const deliveries = await claimDeliveries(database, "me", "desk", 10);
    assert.deepEqual(deliveries.map(({ event }) => event?.type).toSorted(), ["canceled", "succeeded"]);
  });

  test("its queued job is the next one, and the lease of its running job stays until it has expired", async () => {
    assert.equal((await claimOperation(database!, "me"))?.id, QUEUED);
    assert.equal(await claimOperation(database!, "me"), undefined);
    assert.notEqual((await readOperation(database!, RUNNING))?.owner, null);
  });
});
