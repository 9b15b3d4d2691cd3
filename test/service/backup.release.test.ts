/** The drills of docs/deploying.md: a backup amid a job, a restore, the adopted output, and the blobs that nothing names any more. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { mucast } from "../end-to-end/commands/command.ts";
import { startPostgres } from "../servers/postgres.testing.ts";
import { Api } from "./api.testing.ts";
import { hold, release } from "./core.testing.ts";
import { payload, putInputs } from "./inputs.testing.ts";
import { endServices, type Serving, serviceFolder, silentEngine, startServe } from "./service.testing.ts";
import { type FakeStorage, startFakeStorage } from "./storage.testing.ts";

after(endServices);

/** Of Debian's package `postgresql`: the server of the other tests comes without pg_dump. */
const DEBIAN = globSync("/usr/lib/postgresql/*/bin/pg_dump").toSorted().at(-1)?.replace("/bin/pg_dump", "");

/** A job that runs and waits for its inputs. @returns its id. */
async function heldJob(api: Api, storage: FakeStorage, key: string): Promise<string> {
  hold(storage, key);
  const { id } = await api.submit(payload(storage.url, key));
  await api.running(id);
  await storage.untilRequested(`data_extractor_${key}.json`);
  return id;
}

/** Makes every blob older than an hour: the database does not name a blob either while it is being stored. */
function age(blobs: string): void {
  const before = new Date(Date.now() - 2 * 3_600_000);
  for (const name of readdirSync(blobs, { recursive: true, withFileTypes: true }))
    if (name.isFile()) utimesSync(join(name.parentPath, name.name), before, before);
}

test("pg_dump amid a job: the restored service adopts its output, and finds the blobs that the dump does not name", {
  timeout: 600_000,
  skip: DEBIAN === undefined && "NOT RUN: there is no pg_dump; install Debian's package postgresql",
}, async () => {
  const postgres = await startPostgres(DEBIAN);
  const storage = await startFakeStorage();
  try {
    const folder = await serviceFolder();
    const blobs = join(folder, "blobs");
    const [before, restored] = [await postgres.newDatabase(), await postgres.newDatabase()];
    const env = (database: string) => ({
      ...storage.env,
      DATABASE_URL: database,
      BLOB_URL: blobs,
      MUCAST_AUTH: "keys",
      MUCAST_PUBLIC_URL: "https://forecasts.example",
    });
    const command = (database: string, ...words: string[]) => mucast(words, { env: env(database) });
    const newKey = async (name: string) => {
      const { stdout, stderr } = await command(before, "keys", "create", "--name", name);
      assert.match(stdout, /^mucast_/, stderr);
      return stdout.trim();
    };
    const apiOf = ({ url }: Serving, token: string) => new Api(url, { authorization: `Bearer ${token}` });

    const first = await startServe({ folder, env: env(before) });
    const tokens = { early: await newKey("early"), late: "" };
    const early = apiOf(first, tokens.early);
    await putInputs(early, "early");
    const amid = await heldJob(early, storage, "amid");
    const dump = join(folder, "mucast.dump");
    execFileSync(join(DEBIAN!, "bin/pg_dump"), [
      "--format=custom",
      "--schema=mucast",
      `--file=${dump}`,
      before,
    ]);

    // What happens after the dump: the job ends, an upload, and a new caller with a job.
    release(storage, "amid");
    assert.equal((await early.ended(amid)).status, "Succeeded");
    await putInputs(early, "unknown");
    tokens.late = await newKey("late");
    const late = apiOf(first, tokens.late);
    release(storage, "amid");
    const lost = await late.submit(payload(storage.url, "amid"));
    assert.equal((await late.ended(lost.id)).status, "Succeeded");
    assert.deepEqual(await first.terminate(), { code: 0, signal: null });

    execFileSync(join(DEBIAN!, "bin/pg_restore"), [
      "--exit-on-error",
      "--no-owner",
      `--dbname=${restored}`,
      dump,
    ]);
    // No job can end with this engine.
    const silent = await silentEngine(folder);
    const second = await startServe({ folder, env: { ...env(restored), ...silent } });
    const again = apiOf(second, tokens.early);
    const { status, result } = await again.ended(amid);
    assert.deepEqual([status, result?.output_name], ["Succeeded", `ml_engine_${amid}.json`]);
    assert.equal((await again.ask("GET", `/data/ml_engine_${amid}.json`)).status, 200);
    assert.equal((await apiOf(second, tokens.late).ask("GET", "/v1/operations")).status, 401);

    const young = await command(restored, "db", "orphans");
    assert.equal(young.stdout, "");
    assert.match(
      young.stderr,
      /^No orphaned blobs according to the PostgreSQL database \S+ on \S+\.\nLeft out 3 blobs without a record, less than an hour old: .* after \S+Z\.\n$/,
    );
    age(blobs);
    const listed = await command(restored, "db", "orphans");
    assert.equal(listed.code, 0, listed.stderr);
    const paths = listed.stdout
      .split("\n")
      .map((line) => line.split("\t")[0]!.replace(/^key-[0-9a-f]{16}\//, ""));
    assert.deepEqual(
      paths.toSorted(),
      [
        "",
        "data/data_extractor_unknown.json",
        "data/feature_engine_unknown.json",
        `data/ml_engine_${lost.id}.json`,
      ].toSorted(),
    );
    assert.match(
      listed.stderr,
      /^3 blobs that the PostgreSQL database \S+ on \S+ does not name, \d+ bytes\. --remove removes them\.\n$/,
    );
    const other = await postgres.newDatabase();
    assert.equal((await command(other, "db", "migrate")).code, 0);
    const refused = await command(other, "db", "orphans", "--remove");
    assert.deepEqual([refused.code, refused.stdout], [2, ""]);
    assert.match(refused.stderr, /the PostgreSQL database \S+ on \S+ names no blob of this storage/);
    const removed = await command(restored, "db", "orphans", "--remove");
    assert.deepEqual([removed.code, removed.stdout], [0, listed.stdout]);
    assert.match(
      (await command(restored, "db", "orphans")).stderr,
      /^No orphaned blobs according to the .*\.\n$/,
    );
    for (const name of [`ml_engine_${amid}.json`, "feature_engine_early.json", "data_extractor_early.json"])
      assert.equal((await again.ask("GET", `/data/${name}`)).status, 200, name);
    await second.terminate();
  } finally {
    await endServices();
    await storage.stop();
    await postgres.stop();
  }
});
