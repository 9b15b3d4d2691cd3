/**
 * What happens to operations when the service ends, by kill -9 or by SIGTERM, on both databases (in `npm test` on SQLite). A storage that
 * holds their blobs stops jobs in the middle, never a clock.
 */
import assert from "node:assert/strict";
import { watch } from "node:fs";
import { after, before, describe, test } from "node:test";
import { MucastClient } from "../../src/client/index.ts";
import { WHOLE_MATRIX } from "../whole-matrix.testing.ts";
import { problemOf } from "./api.testing.ts";
import { hold, release } from "./core.testing.ts";
import { DATABASES, SQLITE } from "./databases.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { payload } from "./inputs.testing.ts";
import { Restarted } from "./restarted.testing.ts";
import { endServices, untilNoneRuns } from "./service.testing.ts";
import type { FakeStorage } from "./storage.testing.ts";

/** Resolves as soon as a file of that name is in the folder. */
function appears(folder: string, name: string): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(folder, (_, changed) => {
      if (changed !== name) return;
      watcher.close();
      resolve();
    });
  });
}

/** Follows a job by the typed client, from its start to its end. */
function follow(url: string, body: string) {
  const started = Promise.withResolvers<string>();
  const seqs: number[] = [];
  const onEvent = ({ seq, type, operation_id }: { seq: number; type: string; operation_id: string }) => {
    seqs.push(seq);
    if (type === "started") started.resolve(operation_id);
  };
  const ended = new MucastClient({ baseUrl: url }).runAndWait("run_ml_job", body, { onEvent });
  ended.catch(started.reject);
  return { started: started.promise, ended, seqs };
}

const DRAINING = { MUCAST_DRAIN_SECONDS: "600" };

describe("SIGTERM", { timeout: 600_000 }, () => {
  let storage: FakeStorage | undefined;
  after(async () => {
    await endServices();
    await storage?.stop();
  });

  test("lets running jobs end within the time limit, accepts no new ones, and leaves queued ones", async () => {
    const service = await Restarted.start(SQLITE, DRAINING);
    storage = service.storage;
    const { api, serving, small } = service;
    const id = await service.heldRunning("drained");
    const behind = await api.submit(small);
    const seen = serving.processes();
    serving.signal("SIGTERM");
    await eventuallyTrue("it drains", async () => (await api.ask("GET", "/readyz")).status === 503);
    problemOf(await api.post("run_ml_job", small), 503, "unavailable");
    release(storage, "drained");
    assert.deepEqual(await serving.exited, { code: 0, signal: null });
    await untilNoneRuns(seen);
    assert.deepEqual(service.filesOf(id), [`ml_engine_${id}.json`]);
    await service.start(1);
    await service.succeeded(id);
    assert.deepEqual(await service.attemptsOf(id), [1]);
    await service.succeeded(behind.id);
  });
});

for (const database of WHOLE_MATRIX ? DATABASES : [SQLITE]) {
  describe(`kill -9 on ${database.name}`, { timeout: 600_000 }, () => {
    let service: Restarted;
    let [released, canceled, twice, taken, written] = ["", "", "", "", ""];
    let waiting: string[];
    let followed: ReturnType<typeof follow>;
    const keyed = { "idempotency-key": "before" };

    /** By SIGTERM, then twice by kill -9; the tests check what the last service reports. */
    before(async () => {
      service = await Restarted.start(database, "held");
      const { storage, small } = service;
      released = await service.heldRunning("released");
      const seen = service.serving.processes();
      assert.deepEqual(await service.serving.terminate(), { code: 0, signal: null });
      await untilNoneRuns(seen);

      await service.start(4, "held");
      await service.isRead("released", 2);
      hold(storage, "followed");
      followed = follow(service.serving.url, payload(storage.url, "followed"));
      await followed.started;
      await service.isRead("followed", 1);
      canceled = await service.heldRunning("canceled");
      twice = await service.heldRunning("twice");
      waiting = (await Promise.all([1, 2].map(() => service.api.submit(small)))).map(({ id }) => id);
      await service.kill9(async () => {
        await service.api.cancel(canceled);
        taken = (await service.api.submit(small, keyed)).id;
      });
      for (const key of ["released", "followed", "canceled"]) release(storage, key);

      await service.start(2);
      await service.isRead("twice", 2);
      await followed.ended;
      for (const id of [released, taken, ...waiting]) await service.api.ended(id);
      written = await service.heldRunning("written");
      const isWritten = appears(service.blobs, `ml_engine_${written}.json`);
      release(storage, "written");
      await isWritten;
      await service.kill9();
      release(storage, "twice");
      await service.start(1);
    });
    after(async () => {
      await endServices();
      await service?.storage.stop();
      await database.end();
    });

    test("while a job runs and others wait: all end, each with one output", async () => {
      const { id } = await followed.ended;
      for (const one of [...waiting, id]) await service.succeeded(one);
      assert.deepEqual(await service.attemptsOf(id), [1, 2]);
    });

    test("while a client waits: it keeps waiting, and gets each event once", async () => {
      assert.equal((await followed.ended).status, "Succeeded");
      assert.deepEqual(
        followed.seqs,
        followed.seqs.map((_, index) => index + 1),
      );
    });

    test("right after a job was accepted: it runs, and its idempotency key still returns the same operation", async () => {
      await service.succeeded(taken);
      const answer = await service.api.post("run_ml_job", service.small, keyed);
      assert.equal(answer.status, 202, answer.text);
      assert.equal(JSON.parse(answer.text).id, taken);
      const { url } = service.serving;
      assert.equal(answer.headers.get("operation-location"), `${url}/v1/operations/${taken}`);
      const other = await service.api.post("run_ml_job", payload(url, "other"), keyed);
      problemOf(other, 422, "idempotency_conflict");
    });

    test("after a cancellation was requested: it is not forgotten", async () => {
      await service.endedWithout(canceled, "Canceled", "canceled");
    });

    test("the moment the output exists: Succeeded, with that output", async () => {
      const { result } = await service.succeeded(written);
      assert.equal(result!.output_url, `${service.serving.url}/data/ml_engine_${written}.json`);
    });

    test("during two attempts: it runs a third time", async () => {
      await service.succeeded(twice);
      assert.deepEqual(await service.attemptsOf(twice), [1, 2, 3]);
    });

    test("after SIGTERM released a job: that was not a lost attempt, and it runs a third time", async () => {
      await service.succeeded(released);
      assert.equal((await service.attemptsOf(released)).length, 3);
    });
  });
}
