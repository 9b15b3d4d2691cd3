import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { cleanMarket } from "../../../bench/audit/clean-markets.ts";
import { withFeature } from "../../../bench/audit/planted-faults.ts";
import { aDayEarly } from "../../../bench/audit/spoilt-features.ts";
import { plantedMarket, type SignalName, writePlantedBlobs } from "../../../bench/planted/planted-signals.ts";
import type { AuditCheck } from "../../../src/audit/check.ts";
import { checked } from "../../../src/audit/checked.testing.ts";
import { foresight } from "../../../src/audit/foresight/foresight.ts";
import { skill } from "../../../src/audit/skill/skill.ts";
import { MucastError } from "../../../src/contract/errors/errors.ts";
import { dataExtractorText, featureEngineText } from "../../../src/prepare/blob-files.ts";
import { newFolder, removeFolders } from "./job-runs.ts";
import { openSharedEngine } from "./shared-engines.ts";

after(removeFolders);

const RIDGE = '{"ML params":{"model":"ridge","n_splits":5}}';

function audit(
  check: AuditCheck,
  [featureUrl, dataExtractorUrl]: readonly [string, string],
  accepted: readonly string[] = [],
  config = RIDGE,
) {
  const request = { featureUrl, dataExtractorUrl, config, id: "audit" };
  return checked(check, { request, accepted: new Set(accepted) }, { openEngine: openSharedEngine });
}

const SIZE = { tickers: 4, days: 500 };

async function writeBlobs(market: ReturnType<typeof cleanMarket>, extra = ""): Promise<[string, string]> {
  const data = join(await newFolder(), "data");
  mkdirSync(data);
  const dates = market.prices[0]!.days;
  const window = { start: dates[0]!, end: dates.at(-1)! };
  const paths: [string, string] = [join(data, "feature_engine_1.json"), join(data, "data_extractor_1.json")];
  writeFileSync(paths[0], [...featureEngineText(dates, market.features)].join("") + extra);
  writeFileSync(paths[1], [...dataExtractorText(window, dates, market.prices)].join(""));
  return paths;
}

test("with a delay, a feature may know the day before the trade, but not the day that its label describes", async () => {
  const clean = cleanMarket(2, SIZE);
  const place = { ticker: "S02", feature: "mom_5" };
  const early = withFeature(clean, place, aDayEarly);
  const later = withFeature(early, place, aDayEarly);
  const delayed = '{"ML params":{"model":"ridge","n_splits":5,"delay":1}}';
  const statusOf = async (market: typeof clean, config: string) =>
    (await audit(foresight, await writeBlobs(market), [], config)).status;
  assert.equal(await statusOf(early, RIDGE), "found");
  assert.equal(await statusOf(clean, delayed), "clean");
  assert.equal(await statusOf(early, delayed), "clean");
  assert.equal(await statusOf(later, delayed), "found");
});

test("a truncated feature blob gives no verdict", async () => {
  const paths = await writeBlobs(cleanMarket(4, { tickers: 2, days: 200 }), "x");
  await assert.rejects(audit(foresight, paths), (error: unknown) => {
    assert.ok(error instanceof MucastError);
    assert.equal(error.code, "unreadable_blob");
    return true;
  });
});

function skillOf(signal: SignalName, days: number, accepted: readonly string[] = []) {
  return newFolder().then((folder) => {
    const market = plantedMarket(signal, 2, { days, tickers: 5 });
    const { featurePath, dataExtractorPath } = writePlantedBlobs([market], folder);
    return audit(skill, [featurePath, dataExtractorPath], accepted);
  });
}

test("the skill of a ridge on a planted signal is in its timing, and higher than in a real market", async () => {
  const result = await skillOf("linear", 700);
  const { timing, lasting, job_verdict } = result.facts.score as Record<string, Record<string, number>>;
  assert.deepEqual([timing!.rank, timing!.permutations, timing!.p], [1, 19, 0.05]);
  assert.ok(timing!.dates! > 100 && lasting!.t! < lasting!.quantile!);
  assert.equal(job_verdict, "skill");
  assert.equal(result.status, "found");
  const [finding, ...others] = result.findings;
  assert.deepEqual([finding!.code, finding!.severity, others], ["implausible_job", "medium", []]);
  assert.match(finding!.message, /score rows.*out-of-fold rows|out-of-fold rows.*score rows/);
  assert.match(finding!.message, /A synthetic market with a planted signal shows such a figure/);
  const accepted = await skillOf("linear", 700, ["implausible_job"]);
  assert.deepEqual([accepted.status, accepted.findings.map(({ severity }) => severity)], ["clean", ["note"]]);
});

test("forecasts of noise lack skill, as the job itself says", async () => {
  const result = await skillOf("null", 700);
  assert.equal(result.status, "clean");
  assert.deepEqual(
    result.findings.map(({ code, severity, evidence }) => [code, severity, evidence.job_verdict]),
    [["no_skill", "note", "none"]],
  );
});
