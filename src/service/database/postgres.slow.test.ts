import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, before, test } from "node:test";
import pg from "pg";
import { type Postgres, startPostgres } from "../../../test/servers/postgres.testing.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Database } from "./database.ts";
import { openPostgres, type PostgresOptions } from "./postgres.ts";
import { migrate, schemaVersion } from "./schema.ts";

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

async function open(at: string, options: PostgresOptions): Promise<Database> {
  const database = await openPostgres(at, options);
  opened.push(database);
  await migrate(database);
  return database;
}

const isUnavailable = (error: unknown) => error instanceof MucastError && error.code === "unavailable";

/** Sessions of services at the server, whether or not the service still waits for an answer. */
async function backends(): Promise<number> {
  const { rows } = await operator.query(
    "select count(*)::int as n from pg_stat_activity where application_name = 'mucast'",
  );
  return rows[0].n;
}

test("the server ends statements that wait for a lock, so that its connections do not grow", async () => {
  const times = { lock: 50, statement: 60_000, answer: 60_000 };
  const database = await open(url, { connections: 4, times });
  await operator.query("begin; lock table mucast.operations in access exclusive mode");
  for (let round = 0; round < 5; round++) {
    const asked = Array.from({ length: 8 }, () => database.query("select count(*) from operations"));
    for (const answer of await Promise.allSettled(asked)) {
      assert.ok(answer.status === "rejected" && isUnavailable(answer.reason));
    }
    assert.ok((await backends()) <= 4, `${await backends()}`);
  }
  await operator.query("rollback");
  assert.equal((await database.query("select count(*)::int as n from operations")).rows.length, 1);
});

test("a server that is read-only for a while is unavailable, and takes writes again without a restart", async () => {
  const own = await server.newDatabase();
  const database = await open(own, { connections: 1 });
  const name = new URL(own).pathname.slice(1);
  const write = () => database.exec("insert into blob_usage (caller) values ('a') on conflict do nothing");
  await write();
  await operator.query(`alter database ${name} set default_transaction_read_only = on`);
  await database.query("select pg_terminate_backend(pg_backend_pid())").catch(() => undefined);
  await assert.rejects(write, (error: MucastError) => {
    assert.deepEqual([error.code, error.data.retryAfter], ["unavailable", 5]);
    assert.equal(error.message, "the database is read-only (25006)");
    return true;
  });
  await operator.query(`alter database ${name} reset default_transaction_read_only`);
  // The setting is that of new sessions, as a failover shows itself to new connections alone.
  await write();
});

test("the server ends a statement that runs too long, and its connection is used again", async () => {
  const database = await open(url, { connections: 1, times: { lock: 50, statement: 1_000, answer: 60_000 } });
  const backend = async () => (await database.query("select pg_backend_pid() as pid")).rows[0]!.pid;
  const before = await backend();
  await assert.rejects(database.query("select pg_sleep(600)"), isUnavailable);
  const asleep = database.transaction(({ query }) => query("select pg_sleep(600)"));
  await assert.rejects(asleep, isUnavailable);
  assert.equal(await backend(), before);
});

test("migrations may take long, also while another service migrates", async () => {
  const own = await server.newDatabase();
  const times = { lock: 50, statement: 200, answer: 300 };
  const database = await openPostgres(own, { connections: 1, times });
  opened.push(database);
  const slow = new pg.Client({ connectionString: own });
  await slow.connect();
  await slow.query("begin; select pg_advisory_xact_lock(7283115001)");
  const migrated = Promise.allSettled([migrate(database)]);
  // Longer than each of the times above.
  await slow.query("select pg_sleep(0.6)");
  await slow.query("commit");
  await slow.end();
  assert.equal((await migrated)[0].status, "fulfilled");
  await assert.rejects(
    database.query("select pg_sleep(600)"),
    isUnavailable,
    "others are as quick as before",
  );
});

test("services that start at the same moment on a new database all find its schema", async () => {
  for (let round = 0; round < 4; round++) {
    const own = await server.newDatabase();
    const starts = Array.from({ length: 8 }, () => open(own, { connections: 1 }));
    const ends = await Promise.allSettled(starts);
    assert.deepEqual(
      ends.flatMap((end) => (end.status === "rejected" ? [String(end.reason)] : [])),
      [],
    );
  }
});

test("a connection alone creates no schema, and a user who may not create one is told so", async () => {
  const own = await server.newDatabase();
  await operator.query("create role reader login password 'reader'");
  const reader = await openPostgres(own.replace(/\/\/[^@]*@/, "//reader:reader@"), { connections: 1 });
  opened.push(reader);
  assert.equal(await schemaVersion(reader), 0);
  await assert.rejects(migrate(reader), (error: MucastError) => {
    assert.equal(error.code, "unavailable");
    assert.match(error.message, /refuses to create the schema mucast: permission denied for database/);
    return true;
  });
  const { rows } = await reader.query("select 1 from pg_namespace where nspname = 'mucast'");
  assert.deepEqual(rows, []);
});

test("two services on a server with few connections wait for one and lose no request", async () => {
  await operator.query("create role few login password 'few' connection limit 5");
  await operator.query("grant all on schema mucast to few; grant all on all tables in schema mucast to few");
  const few = url.replace(/\/\/[^@]*@/, "//few:few@");
  const services = [await open(few, { connections: 10 }), await open(few, { connections: 10 })];
  const ends = [];
  for (const service of services) {
    ends.push(
      await service.listen(
        "few",
        () => undefined,
        () => undefined,
      ),
    );
  }
  const asked = Array.from({ length: 24 }, (_, n) =>
    services[n % 2]!.transaction(({ query }) => query("select pg_sleep(0.01)")),
  );
  const answers = await Promise.allSettled(asked);
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set(["fulfilled"]));
  for (const end of ends) await end();
});

test("a session that the server ends with the bytes that make it ready ends no service", async () => {
  // A fake server, since no test can make a real one send both at once.
  const fake = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(Buffer.concat([AUTHENTICATED, READY, ENDED_BY_OPERATOR])));
  });
  await once(fake.listen(0, "127.0.0.1"), "listening");
  const { port } = fake.address() as { port: number };
  try {
    await assert.rejects(
      openPostgres(`postgresql://x@127.0.0.1:${port}/x`, { connections: 1 }),
      isUnavailable,
    );
  } finally {
    fake.close();
  }
});

/** A message of PostgreSQL's protocol: a type, a length in four bytes, a body. */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const AUTHENTICATED = message("R", Buffer.alloc(4));
const READY = message("Z", Buffer.from("I"));
const ENDED_BY_OPERATOR = message(
  "E",
  Buffer.from("SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"),
);
