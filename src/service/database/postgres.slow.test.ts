import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { after, before, type TestContext, test } from "node:test";
import { sql } from "kysely";
import pg from "pg";
import { type Postgres, startPostgres } from "../../../test/servers/postgres.testing.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import type { Database } from "./database.ts";
import { storeQueued } from "./databases.testing.ts";
import { openPostgres, postgresName } from "./postgres.ts";
import { migrate } from "./schema.ts";

let server: Postgres;
let url: string;
let operator: pg.Client;
const opened: Database[] = [];
before(async () => {
  server = await startPostgres();
  url = await server.newDatabase();
  operator = new pg.Client({ connectionString: url });
  await operator.connect();
});
after(async () => {
  for (const database of opened) await database.close();
  await operator.end();
  await server.stop();
});

async function open(at: string, connections: number, listenUrl?: string): Promise<Database> {
  const database = await openPostgres(at, { connections, listenUrl });
  opened.push(database);
  await migrate(database);
  return database;
}

const storeUsage = (database: Database, caller: string) =>
  database.write((db) => db.insertInto("blob_usage").values({ caller }).execute());

test("the server ends a transaction that waits for a lock, and its connection is used again", {
  timeout: 60_000,
}, async () => {
  const database = await open(url, 1);
  await operator.query("begin; lock table mucast.blob_usage in access exclusive mode");
  await assert.rejects(storeUsage(database, "locked"), (error: MucastError) =>
    /\(55P03\)/.test(error.message),
  );
  await operator.query("rollback");
  await storeUsage(database, "free");
  const { rows } = await operator.query("select caller from mucast.blob_usage");
  assert.deepEqual(rows, [{ caller: "free" }]);
});

/** A fake of a pooler, which records the parameters that sessions ask for at their start: PgBouncer refuses those that it does not know. */
async function startPooler(t: TestContext) {
  const target = new URL(url);
  const parameters: string[] = [];
  const pooler = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    client.once("data", (start) => {
      const words = start.subarray(8).toString().split("\0");
      parameters.push(...words.filter((word, index) => index % 2 === 0 && word !== ""));
      upstream.write(start);
      client.pipe(upstream);
    });
    upstream.pipe(client);
    for (const socket of [client, upstream])
      socket.on("error", () => undefined).on("close", () => client.destroy());
  });
  await once(pooler.listen(0, "127.0.0.1"), "listening");
  t.after(() => pooler.close());
  const { port } = pooler.address() as { port: number };
  return { parameters, url: Object.assign(new URL(url), { port: String(port) }).href };
}

test("a session asks for nothing that PgBouncer refuses, and keeps no setting after its transaction", async (t) => {
  const pooler = await startPooler(t);
  const database = await open(pooler.url, 1);
  await storeUsage(database, "pooled");
  const allowed = ["user", "database", "client_encoding", "application_name"];
  assert.deepEqual(
    pooler.parameters.filter((name) => !allowed.includes(name)),
    [],
  );
  const show = async (name: string) =>
    Object.values((await sql.raw<object>(`show ${name}`).execute(database.db)).rows[0]!)[0];
  assert.deepEqual([await show("lock_timeout"), await show("search_path")], ["0", '"$user", public']);
  await database.close();
  opened.splice(opened.indexOf(database), 1);
});

test("a listener that hears nothing of its own notification asks every second", {
  timeout: 60_000,
}, async () => {
  // A pooler accepts LISTEN and loses it; so does another database.
  const database = await open(url, 1, await server.newDatabase());
  const asked = Promise.withResolvers<void>();
  const end = await database.listen({ onNotification: () => undefined, onMissed: () => asked.resolve() });
  await asked.promise;
  await end();
});

test("a listener reconnects after the server was restarted, and looks for what it missed", {
  timeout: 60_000,
}, async () => {
  const database = await open(url, 2);
  const heard = Promise.withResolvers<string>();
  const notify = () => storeQueued(database, randomUUID());
  // It looks every second until it listens again, and once more then.
  const end = await database.listen({ onNotification: heard.resolve, onMissed: () => void notify() });
  await operator.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'mucast' and query like 'listen%'",
  );
  assert.match(await heard.promise, /^queued:/);
  await end();
});

test("services that start at the same moment on a new database all find its schema", async () => {
  for (let round = 0; round < 4; round++) {
    const own = await server.newDatabase();
    await Promise.all(Array.from({ length: 8 }, () => open(own, 1)));
  }
});

test("two services on a server with few connections wait for one and lose no request", async () => {
  await operator.query("create role few login password 'few' connection limit 5");
  await operator.query("grant all on schema mucast to few; grant all on all tables in schema mucast to few");
  const few = url.replace(/\/\/[^@]*@/, "//few:few@");
  const services = [await open(few, 10), await open(few, 10)];
  const ends: (() => Promise<void>)[] = [];
  for (const service of services)
    ends.push(await service.listen({ onNotification: () => undefined, onMissed: () => undefined }));
  const asked = Array.from({ length: 24 }, (_, n) =>
    services[n % 2]!.write((db) => sql`select pg_sleep(0.01)`.execute(db)),
  );
  const answers = await Promise.allSettled(asked);
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set(["fulfilled"]));
  for (const end of ends) await end();
});

test("a PostgreSQL database is named by its database, host and port, without user, password and query", () => {
  for (const [url, name] of [
    ["db.example:6432/forecasts?sslmode=disable&application_name=x", "forecasts on db.example:6432"],
    ["db.example/forecasts", "forecasts on db.example:5432"],
    ["[::1]:6432/forecasts", "forecasts on [::1]:6432"],
    ["/forecasts?host=/run/postgresql", "forecasts on /run/postgresql:5432"],
    ["db.example/a%1bb", "a\\u001bb on db.example:5432"],
  ] as const)
    assert.equal(postgresName(`postgresql://ann:secret@${url}`), `PostgreSQL database ${name}`);
});
