import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { removeFolders } from "../../test/end-to-end/jobs/job-runs.ts";
import { CONFIG, changed, edited, noEngine, type Place, placeOf, replay } from "./replay.testing.ts";

describe("a replay of an output of another version or another program", { timeout: 900_000 }, () => {
  let place: Place;
  before(async () => {
    place = await placeOf();
  });
  after(removeFolders);

  test("requests the config that an output did not keep, and compares what is recorded", async () => {
    const outputUrl = await changed(
      place,
      edited((document) => {
        for (const name of ["config", "lock_sha256", "threads"] as const) delete document.provenance[name];
        document.provenance.versions.mucast = "0.1.9";
        delete document.metrics.intervals!.constants;
      }),
    );
    const without = await replay({ outputUrl }, noEngine);
    assert.deepEqual([without.verdict, without.reason?.code], ["cannot_replay", "config_missing"]);
    const other = await replay({ outputUrl, config: `${CONFIG} ` }, noEngine);
    assert.equal(other.reason?.code, "config_differs");
    const { verdict, reason, lacks, differences } = await replay({ outputUrl, config: CONFIG });
    assert.deepEqual([verdict, reason?.code], ["differs", "versions"]);
    assert.deepEqual(lacks.sort(), [
      "metrics.intervals.constants",
      "provenance.config",
      "provenance.lock_sha256",
      "provenance.threads",
    ]);
    assert.deepEqual([differences!.others, differences!.first.path], [1, "provenance.versions.mucast"]);
  });

  test("leaves an invalid config to the job, which refuses it", async () => {
    for (const config of ["null", "[1", '{"ML params": {"intervals": 1}}']) {
      const outputUrl = await changed(
        place,
        edited((document) => {
          delete document.provenance.config;
          document.provenance.config_sha256 = createHash("sha256").update(config).digest("hex");
        }),
      );
      const { reason, problem } = await replay({ outputUrl, config }, noEngine);
      assert.deepEqual([reason?.code, problem?.code], ["job_refused", "invalid_request"], config);
    }
  });

  test("runs no config that this version refuses, and shows its problem", async () => {
    for (const [section, code] of [
      ['{"model": "prophet"}', "unknown_model"],
      ["[".repeat(10_000), "invalid_request"],
      [`{"model": "${"x".repeat(40_000)}"}`, "too_large"],
    ] as const) {
      const outputUrl = await changed(
        place,
        edited((document) => {
          document.provenance.config = section;
        }),
      );
      const { verdict, reason, problem } = await replay({ outputUrl }, noEngine);
      assert.equal(verdict, "cannot_replay");
      assert.equal(reason?.code, "job_refused");
      assert.equal(problem?.code, code, section.slice(0, 80));
    }
  });

  test("names the version of the output and a setting that is no more", async () => {
    const choice = { candidates: [{ model: "lasso" }], over: "auto" };
    const outputUrl = await changed(
      place,
      edited((document) => {
        document.provenance.config = JSON.stringify({ model: "ridge", choice });
        document.provenance.versions.mucast = "0.1.9";
      }),
    );
    const { verdict, reason } = await replay({ outputUrl }, noEngine);
    assert.deepEqual([verdict, reason?.code], ["cannot_replay", "job_refused"]);
    assert.match(
      reason!.message,
      /^the output is of mucast 0\.1\.9, .*choice\.over: "auto" was removed in 0\.3\.0/,
    );
  });

  test("shows values of any shape in place of the machine, in a bounded verdict", async () => {
    const odd = { toString: 1, valueOf: null };
    const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`fact${i}`, "x".repeat(300)]));
    const nested = JSON.parse(`${'{"a":'.repeat(40)}{"toString":1}${"}".repeat(40)}`);
    for (const [value, isIdentical] of [
      [[odd, [odd]], true],
      [nested, true],
      [wide, true],
      ["a\0\u001b[31m\ud800", true],
      [{ threads: [odd] }, false],
    ] as const) {
      const outputUrl = await changed(
        place,
        edited((document) => {
          if (isIdentical) document.machine = value as never;
          else Object.assign(document.provenance, value);
        }),
      );
      const found = await replay({ outputUrl });
      assert.equal(found.verdict, isIdentical ? "identical" : "differs");
      assert.ok(found.machine.length > 0);
      assert.ok(JSON.stringify(found).length < 40_000);
    }
  });

  test("reads no name or device that is longer than any job's", async () => {
    for (const name of ["feature_url", "data_extractor_url", "device"] as const) {
      const long = edited((document) => {
        document.provenance[name] = "x".repeat(100_000);
      });
      const { reason } = await replay({ outputUrl: await changed(place, long) }, noEngine);
      assert.equal(reason?.code, "another_schema");
    }
  });

  test("is not possible for a document of another schema, or without provenance", async () => {
    for (const change of [
      (text: string) => text.replace("mucast.forecast/1", "mucast.forecast/2"),
      (text: string) => text.replace('"provenance":', '"origin":'),
      (text: string) => text.replace(/"feature_sha256":"[^"]*"/, '"feature_sha256":"x"'),
      () => '{"schema":{"deep":[1]},"id":7,"created_at":null}',
      () => "{}",
    ]) {
      const outputUrl = await changed(place, change);
      const { verdict, reason } = await replay({ outputUrl }, noEngine);
      assert.equal(verdict, "cannot_replay");
      assert.equal(reason?.code, "another_schema");
    }
  });

  test("ends with an error if the output is truncated or missing", async () => {
    const half = await changed(place, (text) => text.slice(0, text.length / 2));
    await assert.rejects(replay({ outputUrl: half }, noEngine), { code: "unreadable_blob" });
    await assert.rejects(replay({ outputUrl: `${half}.gone` }, noEngine), { code: "blob_not_found" });
    const url = "https://blobs.example.com/c/data/ml_engine_1.json";
    await assert.rejects(replay({ outputUrl: url }, noEngine), { code: "url_not_allowed" });
  });
});
