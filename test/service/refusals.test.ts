/** What keeps a service from starting is said in one message, without a stack and without a secret. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Postgres, startPostgres } from "../servers/postgres.testing.ts";
import { endServices, launchServe, type ServeOptions, serviceFolder, startServe } from "./service.testing.ts";

const PASSWORD = "plantedPassword";
/** Keeps its process from ending by itself. */
const HOLDER = "data:text/javascript,setInterval(()=>undefined,1e6)";

describe("a service that cannot start", { timeout: 600_000 }, () => {
  let postgres: Postgres;
  let folder: string;
  before(async () => {
    postgres = await startPostgres();
    folder = await serviceFolder();
    writeFileSync(join(folder, "file"), "x");
    writeFileSync(join(folder, "settings.json"), `{"databse_url": "postgresql://u:${PASSWORD}@h/d"}`);
    mkdirSync(join(folder, "broken/data/database"), { recursive: true });
    writeFileSync(join(folder, "broken/data/database/PG_VERSION"), "17");
    mkdirSync(join(folder, "locked/data"), { recursive: true });
    writeFileSync(join(folder, "locked/data/service.lock"), "");
  });
  after(async () => {
    await endServices();
    await postgres?.stop();
  });

  async function assertRefused(options: ServeOptions, named: RegExp): Promise<void> {
    const refused = await launchServe({ folder, ...options });
    const { code } = await refused.exited;
    const said = refused.logs();
    assert.ok(code !== 0 && code !== null, said);
    assert.match(said, named);
    assert.doesNotMatch(said, /\n {4}at |\binternal\b/, "the fault is not ours");
    assert.ok(!said.includes(PASSWORD), said);
  }

  const database = (change: (url: URL) => void) => {
    const url = new URL(postgres.url);
    change(url);
    return { env: { DATABASE_URL: url.href } };
  };

  const cases: readonly (readonly [string, () => ServeOptions, RegExp])[] = [
    [
      "on an address of another machine",
      () => ({ args: ["--host", "192.0.2.1"], env: { MUCAST_AUTH: "keys" } }),
      /192\.0\.2\.1/,
    ],
    ["in a data folder that is a file", () => ({ args: ["--data-dir", join(folder, "file")] }), /\/file/],
    [
      "with a database that is not whole, whatever that leaves open",
      () => ({ folder: join(folder, "broken"), env: { NODE_OPTIONS: `--import ${HOLDER}` } }),
      /\/broken\/data/,
    ],
    [
      "with a folder of blobs that cannot be made",
      () => ({ env: { BLOB_URL: "/proc/x" } }),
      /the blobs, \/proc\/x, could not be written/,
    ],
    ["with a lock that is not one", () => ({ folder: join(folder, "locked") }), /service\.lock/],
    [
      "with a wrong password of the database",
      () =>
        database((url) => {
          url.password = PASSWORD;
        }),
      /password/,
    ],
    [
      "with a database that the server does not have",
      () =>
        database((url) => {
          url.pathname = "/none";
        }),
      /none/,
    ],
    [
      "without its database",
      () => ({ env: { DATABASE_URL: `postgresql://u:${PASSWORD}@127.0.0.1:9/d` } }),
      /ECONNREFUSED/,
    ],
    [
      "with a misspelt setting",
      () => ({ args: ["--settings", join(folder, "settings.json")] }),
      /databse_url.*database_url/s,
    ],
    ["with settings out of range", () => ({ env: { MUCAST_JOB_SECONDS: "0" } }), /MUCAST_JOB_SECONDS/],
    ["with OIDC but no issuer", () => ({ env: { MUCAST_AUTH: "oidc" } }), /oidc_issuer/],
  ];
  for (const [what, options, named] of cases) {
    test(`${what} says so`, () => assertRefused(options(), named));
  }

  test("on a port that is taken says so", async () => {
    const { port } = await startServe();
    await assertRefused({ port }, new RegExp(`\\b${port}\\b`));
  });
});
