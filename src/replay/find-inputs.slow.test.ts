import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { newFolder, removeFolders } from "../../test/end-to-end/jobs/job-runs.ts";
import { openQuickEngine } from "../../test/end-to-end/jobs/shared-engines.ts";
import type { OpenEngine } from "../jobs/shared/job.ts";
import {
  changeDigit,
  changed,
  edited,
  FEATURES,
  noEngine,
  type Place,
  PRICES,
  placeOf,
  replay,
  TINY,
} from "./replay.testing.ts";

describe("the inputs of a replay", { timeout: 900_000 }, () => {
  let place: Place;
  before(async () => {
    place = await placeOf();
  });
  after(removeFolders);

  test("uses inputs that the caller names, wherever they are", async () => {
    const path = join(await newFolder(), basename(place.output));
    writeFileSync(path, place.text);
    const named = { featureUrl: join(TINY, FEATURES), dataExtractorUrl: join(TINY, PRICES) };
    assert.equal((await replay({ outputUrl: path, ...named })).verdict, "identical");
  });

  test("reads no pipe, neither as a named input nor beside the output", { timeout: 600_000 }, async () => {
    const path = join(await newFolder(), basename(place.output));
    writeFileSync(path, place.text);
    const pipe = join(path, "..", FEATURES);
    execFileSync("mkfifo", [pipe]);
    for (const featureUrl of [pipe, undefined]) {
      const { reason, inputs } = await replay({ outputUrl: path, featureUrl });
      assert.equal(reason?.code, "inputs_gone");
      assert.deepEqual(inputs?.feature.tried, [{ url: FEATURES, problem: "invalid_request" }]);
    }
  });

  for (const [kind, name, mark] of [
    ["feature", FEATURES, '"ret_5"'],
    ["data_extractor", PRICES, '"GAMA"'],
  ] as const) {
    test(`runs nothing if a digit of the ${kind} blob has changed, and names the ticker and the date`, async () => {
      const folder = await newFolder();
      const path = join(folder, name);
      copyFileSync(join(TINY, name), path);
      changeDigit(path, mark);
      const flag = kind === "feature" ? { featureUrl: path } : { dataExtractorUrl: path };
      const both = await replay({ outputUrl: place.output, ...flag }, noEngine);
      assert.equal(both.verdict, "differs");
      assert.equal(both.reason?.code, "inputs");
      const { change, sha256, found } = both.inputs![kind];
      assert.notEqual(found?.sha256, sha256);
      assert.equal(change?.values, 1);
      assert.equal(change?.tickers.count, 1);
      assert.equal(change?.dates?.count, 1);

      const alone = await changed(place, (text) => `${text} `);
      changeDigit(join(alone, "..", name), mark);
      const one = await replay({ outputUrl: alone }, noEngine);
      assert.deepEqual([one.reason?.code, one.inputs![kind].change], ["inputs", undefined]);
    });
  }

  test("reports the same values in other bytes, of both blobs", async () => {
    const folder = await newFolder();
    const places = { featureUrl: join(folder, FEATURES), dataExtractorUrl: join(folder, PRICES) };
    writeFileSync(places.featureUrl, gzipSync(readFileSync(join(TINY, FEATURES))));
    writeFileSync(places.dataExtractorUrl, ` ${readFileSync(join(TINY, PRICES), "utf8")}`);
    const { verdict, reason, inputs } = await replay({ outputUrl: place.output, ...places }, noEngine);
    assert.deepEqual([verdict, reason?.code], ["differs", "inputs"]);
    for (const { change } of Object.values(inputs!)) assert.equal(change?.tickers.count, 0);
    assert.match(
      reason!.message,
      /^nothing was run: feature_engine_tiny\.json .*every value is the same: it is written.*; data_extractor_tiny\.json .*every value.*another window/,
    );
  });

  test("names the places that it searched for missing inputs", async () => {
    const outputUrl = join(await newFolder(), basename(place.output));
    writeFileSync(outputUrl, place.text);
    const gone = await replay({ outputUrl }, noEngine);
    assert.equal(gone.verdict, "cannot_replay");
    assert.equal(gone.reason?.code, "inputs_gone");
    assert.deepEqual(gone.inputs?.feature, {
      url: FEATURES,
      sha256: gone.inputs?.feature.sha256,
      found: null,
      tried: [{ url: FEATURES, problem: "blob_not_found" }],
    });
    const remote = edited((document) => {
      document.provenance.feature_url = `https://127.0.0.1:9/blobs/data/${FEATURES}?sig=hunter2`;
    });
    writeFileSync(outputUrl, remote(place.text));
    const tried = (await replay({ outputUrl }, noEngine)).inputs?.feature.tried;
    assert.deepEqual(
      tried?.map(({ problem }) => problem),
      ["url_not_allowed"],
    );
  });

  test("cannot be done if a blob disappears between the comparison of its digest and the job", async () => {
    for (const name of [FEATURES, PRICES]) {
      const outputUrl = await changed(place, (text) => `${text} `);
      const path = join(outputUrl, "..", name);
      const goes: OpenEngine = (need) => {
        rmSync(path);
        return openQuickEngine(need);
      };
      const { verdict, reason, inputs, problem } = await replay({ outputUrl }, goes);
      assert.deepEqual([verdict, reason?.code], ["cannot_replay", "inputs_gone"]);
      assert.match(reason!.message, /: blob_not_found\); it went while the replay ran$/);
      assert.equal(problem?.code, "blob_not_found");
      assert.equal(inputs?.[name === FEATURES ? "feature" : "data_extractor"].found, null);
    }
  });

  test("ends with the error of a blob that its storage returned, and then did not return to the job", async () => {
    const outputUrl = await changed(place, (text) => `${text} `);
    const path = join(outputUrl, "..", FEATURES);
    const moved = `${path}.away`;
    const goes: OpenEngine = (need) => {
      renameSync(path, moved);
      const engine = openQuickEngine(need);
      const close = async () => {
        renameSync(moved, path);
        await engine.close();
      };
      return { ...engine, close };
    };
    await assert.rejects(replay({ outputUrl }, goes), { code: "blob_not_found" });
  });

  test("follows no path that an output records", async () => {
    const outside = join(await newFolder(), "feature_engine_1.json");
    copyFileSync(join(TINY, FEATURES), outside);
    const relative = `../${basename(join(outside, ".."))}/feature_engine_1.json`;
    for (const url of [outside, relative, "..", "a\0b", "file:///etc/hostname"]) {
      const outputUrl = await changed(
        place,
        edited((document) => {
          document.provenance.feature_url = url;
        }),
      );
      const { reason, inputs } = await replay({ outputUrl }, noEngine);
      assert.equal(reason?.code, "inputs_gone", url);
      assert.ok(
        inputs!.feature.tried.every(({ url: shown }) => !shown.includes("/etc")),
        url,
      );
    }
  });

  test("names no path if a job refuses a blob", async () => {
    const outputUrl = await changed(
      place,
      edited((document) => {
        document.provenance.feature_sha256 = createHash("sha256").update("{").digest("hex");
      }),
    );
    writeFileSync(join(outputUrl, "..", FEATURES), "{");
    const { reason, problem } = await replay({ outputUrl });
    assert.deepEqual([reason?.code, problem?.code], ["job_refused", "unreadable_blob"]);
    assert.match(problem!.detail, /^feature_engine_tiny\.json: /);
  });
});
