import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import {
  type Job,
  newFolder,
  removeFolders,
  runJob,
  withoutProvenance,
  writeMarket,
} from "../../test/end-to-end/jobs/job-runs.ts";
import { assertValid } from "../../test/end-to-end/jobs/published-schemas.ts";
import { openQuickEngine } from "../../test/end-to-end/jobs/shared-engines.ts";
import { cleanMarket } from "../../test/end-to-end/markets/market.ts";
import { marketTables } from "../../test/end-to-end/markets/market-tables.ts";
import { requestedWindow } from "../contract/config/payload-schemas.ts";
import { runMlJob } from "../jobs/run-job.ts";
import { CONFIG, replay } from "./replay.testing.ts";

after(removeFolders);

describe("Parquet tables whose window the request gives", () => {
  const market = cleanMarket("2021-10-29");
  const { start, end, Learning_end } = market.bounds;
  const members = {
    start: start ?? undefined,
    end: end ?? undefined,
    learning_end: Learning_end ?? undefined,
  };

  test("give the output of JSON that names the window, and are replayed with it", async () => {
    const json = await runJob(await writeMarket(market), CONFIG, 1, runMlJob, openQuickEngine);
    const folder = await newFolder();
    const data = join(folder, "data");
    await mkdir(data);
    const tables = marketTables({ ...market, bounds: {} });
    const pair = {
      folder,
      features: join(data, "feature_engine_1.parquet"),
      prices: join(data, "data_extractor_1.parquet"),
    };
    await writeFile(pair.features, tables.features);
    await writeFile(pair.prices, tables.prices);
    const job: Job = (request, context) =>
      runMlJob({ ...request, window: requestedWindow(members) }, context);
    const { text, output } = await runJob(pair, CONFIG, 1, job, openQuickEngine);
    assert.equal(withoutProvenance(text), withoutProvenance(json.text));
    assertValid("output-blob", output);
    assert.deepEqual(output.provenance.requested_window, {
      start: start ?? null,
      end: end ?? null,
      learning_end: Learning_end,
    });
    const verdict = await replay({ outputUrl: join(data, `ml_engine_${output.id}.json`) });
    assert.equal(verdict.verdict, "identical");
  });
});
