import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { engineThatCrashes } from "../../test/end-to-end/faults/crashing-engine.ts";
import { type Job, removeFolders, runJob, withoutIdentity } from "../../test/end-to-end/jobs/job-runs.ts";
import { assertValid } from "../../test/end-to-end/jobs/published-schemas.ts";
import { openQuickEngine } from "../../test/end-to-end/jobs/shared-engines.ts";
import { CONFIG, FEATURES, noEngine, type Place, PRICES, placeOf, replay } from "./replay.testing.ts";

describe("a replay", { timeout: 900_000 }, () => {
  let place: Place;
  before(async () => {
    place = await placeOf();
  });
  after(removeFolders);

  test("of the same blobs is identical, and writes the same bytes twice and nothing else", async () => {
    const files = readdirSync(place.folder);
    const first = await replay({ outputUrl: place.output });
    assert.equal(first.verdict, "identical");
    assert.equal(first.reason, undefined);
    assert.equal(first.compared?.sha256, first.compared?.replayed_sha256);
    const bare = place.text
      .replace(/"id":"[^"]*",/, "")
      .replace(/"created_at":"[^"]*",/, "")
      .replace(/"machine":\{.*?\}\}\},/, "");
    assert.equal(first.compared?.sha256, createHash("sha256").update(bare).digest("hex"));
    assert.deepEqual(await replay({ outputUrl: place.output }), first);
    assert.deepEqual(readdirSync(place.folder), files);
  });

  test("keeps the tags of the output", async () => {
    const { runMlJob } = await import("../jobs/run-job.ts");
    const pair = {
      folder: place.folder,
      features: join(place.folder, FEATURES),
      prices: join(place.folder, PRICES),
    };
    const tags = ["nightly", "<i>&"];
    const job: Job = (request, context) => runMlJob({ ...request, tags }, context);
    const { output, text } = await runJob(pair, CONFIG, 1, job, openQuickEngine);
    assert.deepEqual(output.tags, tags);
    assertValid("output-blob", output);
    assert.equal(
      withoutIdentity(text.replace(`"tags":${JSON.stringify(tags)},`, "")),
      withoutIdentity(place.text),
    );
    const outputUrl = join(place.folder, `ml_engine_${output.id}.json`);
    assert.equal((await replay({ outputUrl })).verdict, "identical");
  });

  test("also runs a job of networks, here one that is switched off", async () => {
    const config =
      '{"NN params": {"Dot prediction": {"status": false, "current option": "mlp"}, "x": {"secret": 1}}, "y": {}}';
    const { runDlJob } = await import("../jobs/run-job.ts");
    const pair = {
      folder: place.folder,
      features: join(place.folder, FEATURES),
      prices: join(place.folder, PRICES),
    };
    const { output } = await runJob(pair, config, 1, runDlJob, noEngine);
    const outputUrl = join(place.folder, `nn_engine_${output.id}.json`);
    assert.equal((await replay({ outputUrl }, noEngine)).verdict, "identical");
  });

  test("ends with an error if its run loses every ticker with processes of the engine", async () => {
    const engine = engineThatCrashes(1, ["ALFA", "BETA", "GAMA"], openQuickEngine);
    await assert.rejects(replay({ outputUrl: place.output }, engine), {
      code: "engine_crashed",
      message:
        /^(ALFA|BETA|GAMA): the worker died 2 times: .*; the replay lost every ticker, .* replay again$/,
    });
  });
});
