import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { type MucastApiError, MucastClient } from "../../src/client/index.ts";
import type { Core } from "./core.testing.ts";
import { FEATURES, PRICES, RIDGE } from "./inputs.testing.ts";

/** The typed client on a real service. */
export function typedClient(core: () => Core): void {
  describe("the client", () => {
    let client: MucastClient;
    let urls: { feature_url: string; data_extractor_url: string };

    before(async () => {
      client = new MucastClient({ baseUrl: core().serving.url });
      const put = async (name: string, text: string) => (await client.putBlob(name, text)).url;
      urls = {
        feature_url: await put("feature_engine_c.json", FEATURES),
        data_extractor_url: await put("data_extractor_c.json", PRICES),
      };
    });

    test("uploads, runs, follows and reads", async () => {
      assert.equal((await client.putBlob("feature_engine_c.json", FEATURES)).created, false);
      const types: string[] = [];
      const onEvent = ({ type }: { type: string }) => types.push(type);
      const { id, result, warnings } = await client.runAndWait(
        "run_ml_job",
        { ...urls, config: RIDGE },
        { onEvent },
      );
      assert.deepEqual([types[0], types[1], types.at(-1)], ["queued", "started", "succeeded"]);
      assert.ok(Array.isArray(warnings));
      const { mu } = (await (await client.getBlob(result!.output_name)).json()) as {
        mu: Record<string, number>;
      };
      assert.deepEqual(Object.keys(mu), ["AAPL", "MSFT"]);
      assert.match(await client.getReport(id), /^<!doctype html>.*<h2 id="verdict">Verdict/s);
      const seqs: number[] = [];
      for await (const { seq } of client.events(id, { lastEventId: 1 })) seqs.push(seq);
      assert.deepEqual(
        seqs,
        seqs.map((_, index) => index + 2),
      );
      assert.equal((await client.events(id, { lastEventId: seqs.at(-1) }).next()).done, true);
    });

    test("prepares a price CSV into blobs that a job accepts, and names the faulty line", async () => {
      const day = (i: number) => new Date(Date.UTC(2020, 0, 1 + i)).toISOString().slice(0, 10);
      const rows = Array.from(
        { length: 260 },
        (_, i) => `${day(i)},${100 + Math.sin(i)},${50 + Math.cos(3 * i)}`,
      );
      const csv = ["Date,A,B", ...rows].join("\n");
      const prepared = await client.prepare(csv, { learning_end: day(240) });
      assert.deepEqual(
        [prepared.tickers, prepared.dates, prepared.learning_end, prepared.warnings, prepared.written],
        [["A", "B"], 260, day(240), [], true],
      );
      assert.equal((await client.prepare(csv, { learning_end: day(240) })).written, false);
      const { feature_url, data_extractor_url } = prepared;
      const operation = await client.runAndWait("run_ml_job", {
        feature_url,
        data_extractor_url,
        config: RIDGE,
      });
      assert.deepEqual(Object.keys((await client.output(operation)).mu), ["A", "B"]);
      await assert.rejects(client.prepare(`${csv}\n${rows[0]}`), (error: MucastApiError) => {
        assert.match(error.problem.detail, /^prices\.csv: line 262 gives A a second price/);
        return error.code === "invalid_data";
      });
    });
  });
}
