import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isFinal, type StoredEvent } from "../../src/contract/api/stored-event.ts";
import { collect, type WireEvent } from "./api.testing.ts";
import type { Core } from "./core.testing.ts";

const dataOf = ({ data }: WireEvent) => data as StoredEvent;

/** Following an operation. */
export function following(core: () => Core): void {
  describe("events", () => {
    test("report an operation in order, from its queueing to its end, and then the stream closes", async () => {
      const { api } = core();
      const done = await api.submit(core().own(), { prefer: "wait=60" });
      const stream = await api.events(done.id);
      const events = await collect(stream);
      assert.match(stream.headers.get("content-type")!, /^text\/event-stream/);
      assert.deepEqual(
        events.map(({ id }) => id),
        events.map((_, i) => String(i + 1)),
      );
      assert.ok(events.every((event) => event.type === dataOf(event).type));
      assert.ok(events.every((event) => dataOf(event).operation_id === done.id));
      const types = events.map(({ type }) => type);
      assert.deepEqual([types[0], types[1], types.at(-1)], ["queued", "started", "succeeded"]);
      assert.deepEqual(dataOf(events.at(-1)!).data, done);
      assert.equal(types.filter((type) => isFinal(type as StoredEvent["type"])).length, 1);
    });

    test("come as they happen", async () => {
      const { api } = core();
      const { operation, release } = await core().heldRunning();
      const { events } = await api.events(operation.id);
      assert.equal((await events.next()).value!.type, "queued");
      assert.equal((await events.next()).value!.type, "started");
      release();
      let last = "";
      for await (const { type } of events) last = type;
      assert.equal(last, "succeeded");
    });
  });
}
