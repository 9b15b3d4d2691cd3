/** Several services on one PostgreSQL and one blob folder, and a database that becomes unavailable. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Postgres, startPostgres } from "../servers/postgres.testing.ts";
import { Api, collect } from "./api.testing.ts";
import { hold, release } from "./core.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { FEATURES, PRICES, payload } from "./inputs.testing.ts";
import { ownerOf } from "./processes.testing.ts";
import { endServices, type Serving, serviceFolder, startServe, untilNoneRuns } from "./service.testing.ts";
import { type FakeStorage, startFakeStorage } from "./storage.testing.ts";

describe("services that share a PostgreSQL", { timeout: 600_000 }, () => {
  let postgres: Postgres;
  let storage: FakeStorage;
  let env: Record<string, string>;
  let services: [Serving, Serving];
  let blobs: string;

  before(async () => {
    postgres = await startPostgres();
    storage = await startFakeStorage();
    storage.put("feature_engine_small.json", FEATURES);
    storage.put("data_extractor_small.json", PRICES);
    blobs = join(await serviceFolder(), "blobs");
    env = {
      ...storage.env,
      DATABASE_URL: await postgres.newDatabase(),
      BLOB_URL: blobs,
      MUCAST_PUBLIC_URL: "http://127.0.0.1:9",
      MUCAST_CORES: "1",
      MUCAST_CONCURRENT_JOBS: "1",
    };
    services = (await Promise.all([startServe({ env }), startServe({ env })])) as [Serving, Serving];
  });
  after(async () => {
    await endServices();
    await storage?.stop();
    await postgres?.stop();
  });

  const apiOf = ({ url }: Serving) => new Api(url);

  /** The service that runs the job that waits for a blob. */
  async function runnerOf(key: string, times = 1): Promise<Serving> {
    const name = `data_extractor_${key}.json`;
    await storage.untilRequested(name, times);
    const reader = ownerOf(storage.connection(name))!;
    return services.find((service) => service.processes().some(({ pid }) => pid === reader.pid))!;
  }

  /** One after the other, because the first ones must run. */
  async function heldOnBoth(keys: readonly string[]): Promise<string[]> {
    const ids: string[] = [];
    for (const key of keys) {
      hold(storage, key);
      ids.push((await apiOf(services[0]).submit(payload(storage.url, key))).id);
    }
    return ids;
  }

  function outputs(): string[] {
    return readdirSync(join(blobs, "data")).toSorted();
  }

  test("run each other's jobs, and each reports their state at the public URL", async () => {
    const ids = await heldOnBoth(["one", "two"]);
    const runners = [await runnerOf("one"), await runnerOf("two")];
    assert.notEqual(runners[0], runners[1], "each service has one core, so each runs one");
    for (const key of ["one", "two"]) release(storage, key);
    for (const id of ids) {
      const [seen, alsoSeen] = await Promise.all(services.map((service) => apiOf(service).ended(id)));
      assert.deepEqual(seen, alsoSeen);
      assert.equal(seen!.status, "Succeeded", JSON.stringify(seen!.error));
      assert.equal(seen!.result!.output_url, `http://127.0.0.1:9/data/ml_engine_${id}.json`);
      const output = await apiOf(services[1]).ask("GET", `/data/ml_engine_${id}.json`);
      assert.equal(output.status, 200);
    }
  });

  test("share idempotency keys and events, and cancel each other's jobs", async () => {
    hold(storage, "shared");
    const headers = { "idempotency-key": "shared" };
    const answers = await Promise.all(
      [0, 1, 0, 1].map((i) =>
        apiOf(services[i]!).post("run_ml_job", payload(storage.url, "shared"), headers),
      ),
    );
    const ids = answers.filter(({ status }) => status === 202).map(({ text }) => JSON.parse(text).id);
    assert.equal(new Set(ids).size, 1);
    const runner = await runnerOf("shared");
    const other = apiOf(services.find((service) => service !== runner)!);
    const { events } = await other.events(ids[0]);
    assert.equal((await events.next()).value!.type, "queued");
    await other.cancel(ids[0]);
    let last = "";
    for await (const { type } of events) last = type;
    assert.equal(last, "canceled");
  });

  test("take over running and queued jobs of a killed one", async () => {
    const [id] = (await heldOnBoth(["taken"])) as [string];
    const runner = await runnerOf("taken");
    const other = services.find((service) => service !== runner)!;
    const waiting = await Promise.all(
      [1, 2, 3, 4].map(() => apiOf(runner).submit(payload(storage.url, "small"))),
    );
    const seen = runner.processes();
    await runner.kill9();
    await untilNoneRuns(seen);
    release(storage, "taken");
    const names: string[] = [];
    for (const { id: one } of [...waiting, { id }]) {
      const ended = await apiOf(other).ended(one);
      assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
      names.push(ended.result!.output_name);
    }
    assert.ok(names.every((name) => outputs().filter((stored) => stored === name).length === 1));
    const starts = (await collect(await apiOf(other).events(id))).filter(({ type }) => type === "started");
    assert.equal(starts.length, 2);
    services = [other, await startServe({ env })];
  });

  const ready = () =>
    eventuallyTrue("the services are ready", async () => {
      const answers = await Promise.all(services.map((service) => apiOf(service).ask("GET", "/readyz")));
      return answers.every(({ status }) => status === 200);
    });

  test("survive a restart of the database: nothing is lost, and requests get 503", async () => {
    const ids = await heldOnBoth(["through", "behind", "further"]);
    await storage.untilRequested("data_extractor_through.json");
    await postgres.down();
    const health = await Promise.all(services.map((service) => apiOf(service).ask("GET", "/healthz")));
    assert.deepEqual(
      health.map(({ status }) => status),
      [200, 200],
    );
    const refused = await apiOf(services[0]).post("run_ml_job", payload(storage.url, "small"));
    assert.equal(refused.status, 503, refused.text);
    for (const key of ["through", "behind", "further"]) release(storage, key);
    await postgres.up();
    await ready();
    for (const id of ids) {
      const ended = await apiOf(services[0]).ended(id);
      assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
    }
    const after = await apiOf(services[1]).submit(payload(storage.url, "small"), { prefer: "wait=60" });
    assert.equal(after.status, "Succeeded", JSON.stringify(after.error));
  });
});
