import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isFinal, type StoredEvent } from "../../src/contract/api/stored-event.ts";
import { featureBlob, type Market, priceBlob, tickerSeries, weekdays } from "../end-to-end/markets/market.ts";
import { collect, type WireEvent } from "./api.testing.ts";
import type { Core } from "./core.testing.ts";
import { payload } from "./inputs.testing.ts";

const dataOf = ({ data }: WireEvent) => data as StoredEvent;

/** More folds than there are rows, so that every ticker has a warning. */
const MANY_WARNINGS = '{"ML params": {"model": "ridge", "n_splits": 500, "cv_test_size": 30}}';

/** Twenty tickers. */
function wideMarket(): Market {
  const dates = weekdays(120);
  const series = Array.from({ length: 20 }, (_, i) => [`T${i}`, tickerSeries(i, dates.length)] as const);
  return {
    bounds: { start: dates[0]!, end: dates.at(-1)! },
    priceDates: dates,
    prices: new Map(series.map(([ticker, { prices }]) => [ticker, prices])),
    featureDates: dates,
    features: new Map(series.map(([ticker, { columns }]) => [ticker, columns])),
  };
}

/** Following an operation. */
export function following(core: () => Core): void {
  describe("events", () => {
    test("report an operation in order, from its queueing to its end, and then the stream closes", async () => {
      const { api } = core();
      const done = await api.submit(core().own(), { prefer: "wait=60" });
      const stream = await api.events(done.id);
      const events = await collect(stream);
      assert.match(stream.headers.get("content-type")!, /^text\/event-stream/);
      assert.ok(stream.retry()! > 0);
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

    test("resume after the last one seen", async () => {
      const { api } = core();
      const { id } = await api.submit(core().own(), { prefer: "wait=60" });
      const all = await collect(await api.events(id));
      for (const last of [1, 2, all.length - 1]) {
        const resumed = await collect(await api.events(id, String(last)));
        assert.deepEqual(resumed, all.slice(last));
      }
      // So that an EventSource does not reconnect.
      assert.equal((await api.events(id, String(all.length))).status, 204);
    });

    test("that are no longer kept are replaced by a snapshot", async () => {
      const { api, storage } = core();
      storage.put("feature_engine_wide.json", featureBlob(wideMarket()));
      storage.put("data_extractor_wide.json", priceBlob(wideMarket()));
      const { id } = await api.submit(payload(storage.url, "wide", MANY_WARNINGS), { prefer: "wait=60" });
      const done = await api.ended(id);
      assert.equal(done.status, "Succeeded", JSON.stringify(done.error));
      assert.ok(done.warnings.length >= 20);
      const all = await collect(await api.events(id, "1"));
      assert.equal(all[0]!.type, "snapshot", JSON.stringify(all.map(({ id, type }) => [id, type])));
      assert.deepEqual(dataOf(all[0]!).data, done);
      assert.equal(all.at(-1)!.type, "succeeded");
      assert.deepEqual(dataOf(all.at(-1)!).data, done);
      const numbers = all.map(({ id }) => Number(id));
      assert.deepEqual(
        numbers,
        [...new Set(numbers)].sort((a, b) => a - b),
      );
    });
  });
}
