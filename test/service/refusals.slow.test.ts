/** A service that cannot start says why in one message, without a stack or a secret. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, before, describe, test } from "node:test";
import { explain, Reporter } from "../../src/cli/terminal/reporter.ts";
import { startService } from "../../src/service/service.ts";
import { loadSettings, type SettingFlags } from "../../src/service/settings/load-settings.ts";
import { type Postgres, startPostgres } from "../servers/postgres.testing.ts";
import { endServices, launchServe, type ServeOptions, serviceFolder } from "./service.testing.ts";

const PASSWORD = "plantedPassword";
/** The exit status for wrong settings, and the one for everything else. */
const [INVALID, FAILED] = [2, 3];
/** Keeps its process from ending by itself. */
const HOLDER = "data:text/javascript,setInterval(()=>undefined,1e6)";

interface Refusal {
  readonly code: number | null;
  readonly said: string;
}

interface Given {
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: SettingFlags;
}

describe("a service that cannot start", { timeout: 600_000 }, () => {
  let postgres: Postgres;
  let folder: string;
  let taken: Server;
  let port: number;
  before(async () => {
    postgres = await startPostgres();
    folder = await serviceFolder();
    mkdirSync(join(folder, "broken/data/database"), { recursive: true });
    writeFileSync(join(folder, "broken/data/database/PG_VERSION"), "17");
    taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    ({ port } = taken.address() as { port: number });
  });
  after(async () => {
    await endServices();
    taken?.close();
    await postgres?.stop();
  });

  function assertTold({ code, said }: Refusal, named: RegExp): void {
    assert.ok(code === INVALID || code === FAILED, said);
    const isOfSettings = /^error: invalid_request/m.test(said);
    assert.equal(code, isOfSettings ? INVALID : FAILED, said);
    assert.match(said, named);
    assert.doesNotMatch(said, /\n {4}at |\binternal\b/, "the fault is not ours");
    assert.ok(!said.includes(PASSWORD), said);
  }

  /** The exit of a process that cannot start. */
  async function refusedProcess(options: ServeOptions): Promise<Refusal> {
    const refused = await launchServe(options);
    const { code } = await refused.exited;
    return { code, said: refused.logs() };
  }

  /** The same in this process, by the steps of `mucast serve`. */
  async function refused({ env = {}, flags = {} }: Given): Promise<Refusal> {
    const stream = new PassThrough();
    const reporter = new Reporter({ format: "text", quiet: false, stream });
    try {
      const settings = loadSettings({ data_dir: join(folder, "data"), port: "0", ...flags }, env);
      const service = await startService(settings, env);
      await service.close();
    } catch (error) {
      const code = explain(error, reporter);
      return { code, said: String(stream.read()) };
    }
    return assert.fail("it started");
  }

  const database = (change: (url: URL) => void) => {
    const url = new URL(postgres.url);
    change(url);
    return { env: { DATABASE_URL: url.href } };
  };

  const processes: readonly (readonly [string, () => ServeOptions, RegExp])[] = [
    [
      "with a database that is not whole, whatever that leaves open",
      () => ({ folder: join(folder, "broken"), env: { NODE_OPTIONS: `--import ${HOLDER}` } }),
      /\/broken\/data/,
    ],
    [
      "with a wrong password of the database",
      () =>
        database((url) => {
          url.password = PASSWORD;
        }),
      /password/,
    ],
  ];
  for (const [what, options, named] of processes) {
    test(`${what} says so`, async () => assertTold(await refusedProcess(options()), named));
  }

  const cases: readonly (readonly [string, () => Given, RegExp])[] = [
    [
      "on an address of another machine",
      () => ({
        flags: { host: "192.0.2.1" },
        env: { MUCAST_AUTH: "keys", ...database(() => undefined).env },
      }),
      /192\.0\.2\.1/,
    ],
    [
      "on a port that is taken",
      () => ({ flags: { port: String(port) }, ...database(() => undefined) }),
      /^error: cannot_listen: .*\n {2}cannot listen on 127\.0\.0\.1:\d+: another process listens there \(EADDRINUSE\)\n {2}Use a different --port/m,
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
  ];
  for (const [what, given, named] of cases) {
    test(`${what} says so`, async () => assertTold(await refused(given()), named));
  }
});
