import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { cleanMarket } from "../../bench/audit/clean-markets.ts";
import { foresightOf } from "../../bench/audit/examined-market.ts";
import { plant } from "../../bench/audit/planted-faults.ts";
import { plantedMarket, type SignalName, writePlantedBlobs } from "../../bench/planted/planted-signals.ts";
import type { AuditContext, AuditInputs } from "../../src/audit/check.ts";
import { foresight } from "../../src/audit/foresight/foresight.ts";
import { skill } from "../../src/audit/skill/skill.ts";
import { MucastError } from "../../src/contract/errors/errors.ts";
import { dataExtractorText, featureEngineText } from "../../src/prepare/canonical-blobs.ts";
import { newFolder, removeFolders } from "./job-runs.ts";
import { openSharedEngine } from "./shared-engines.ts";

after(removeFolders);

const RIDGE = '{"ML params":{"model":"ridge","n_splits":5}}';

function inputsOf(
  featureUrl: string,
  dataExtractorUrl: string,
  accepted: readonly string[] = [],
): AuditInputs {
  return {
    request: { featureUrl, dataExtractorUrl, config: RIDGE, id: "audit" },
    operation: "run_ml_job",
    accepted: new Set(accepted),
    truncations: 1,
    quick: false,
    permutations: 19,
  };
}

function contextOf(signal = new AbortController().signal): AuditContext & { steps: [number, number][] } {
  const steps: [number, number][] = [];
  return {
    workers: 1,
    policy: { allowed: [] },
    report: () => undefined,
    signal,
    openEngine: openSharedEngine,
    onStep: (done, total) => steps.push([done, total]),
    steps,
  };
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

test("foresight reads the blobs ticker by ticker and finds what it finds in memory", async () => {
  const market = plant(cleanMarket(2, SIZE), "dated a day early", { ticker: "S02", feature: "mom_5" });
  const context = contextOf();
  const result = await foresight.run(inputsOf(...(await writeBlobs(market))), context);
  const { findings, suspects } = foresightOf(market);
  assert.equal(result.status, "found");
  assert.deepEqual(result.findings, findings);
  assert.equal(result.tests, suspects.tests);
  assert.deepEqual([result.facts.tickers, result.facts.ticker_features], [4, 4 * 26]);
  assert.deepEqual(context.steps, [
    [1, 4],
    [2, 4],
    [3, 4],
    [4, 4],
  ]);
  assert.equal(JSON.stringify(result), JSON.stringify(JSON.parse(JSON.stringify(result))));
});

test("values on dates without a price are one note, and leave the audit clean", async () => {
  const market = cleanMarket(3, SIZE);
  const prices = market.prices.map((one) => ({
    ...one,
    prices: one.prices.map((price, i) => (i % 50 === 7 ? Number.NaN : price)),
  }));
  const features = market.features.map(({ columns, values, ...one }) => ({
    ...one,
    columns: columns.slice(1, 2),
    values: values.slice(one.days.length, 2 * one.days.length),
  }));
  const result = await foresight.run(inputsOf(...(await writeBlobs({ prices, features }))), contextOf());
  assert.equal(result.status, "clean");
  assert.deepEqual(
    result.findings.map(({ code, severity, evidence }) => [code, severity, evidence]),
    [["value_without_price", "note", { tickers: 4, features: 4, values: 40 }]],
  );
});

test("a feature with much skill is accepted by a person, who then gets a note", async () => {
  const market = plantedMarket("linear", 1, { days: 400, tickers: 3 });
  const paths = writePlantedBlobs([market], await newFolder());
  const run = (accepted: readonly string[]) =>
    foresight.run(inputsOf(paths.featurePath, paths.dataExtractorPath, accepted), contextOf());
  const plain = await run([]);
  assert.equal(plain.status, "found");
  assert.deepEqual([...new Set(plain.findings.map(({ code }) => code))], ["implausible_skill"]);
  const names = plain.findings.map(({ feature }) => feature!);
  const accepted = await run(names);
  assert.equal(accepted.status, "clean");
  assert.deepEqual([...new Set(accepted.findings.map(({ severity }) => severity))], ["note"]);
});

test("a feature blob that breaks off gives no verdict", async () => {
  const [features, prices] = await writeBlobs(cleanMarket(4, { tickers: 2, days: 200 }), "x");
  await assert.rejects(foresight.run(inputsOf(features, prices), contextOf()), (error: unknown) => {
    assert.ok(error instanceof MucastError);
    assert.equal(error.code, "unreadable_blob");
    return true;
  });
});

for (const [signal, isSkilled] of [
  ["linear", true],
  ["null", false],
] satisfies [SignalName, boolean][]) {
  test(`skill of a ridge on ${signal}: ${isSkilled ? "first of 20" : "a note at most"}`, async () => {
    const { featurePath, dataExtractorPath } = writePlantedBlobs(
      [plantedMarket(signal, 2, { days: 700, tickers: 5 })],
      await newFolder(),
    );
    const result = await skill.run(inputsOf(featurePath, dataExtractorPath), contextOf());
    const { rank, permutations, p, dates } = result.facts.score as Record<string, number>;
    assert.equal(permutations, 19);
    assert.equal(p, rank! / 20);
    assert.ok(dates! > 100);
    assert.equal(result.status, "clean");
    if (isSkilled) assert.deepEqual([rank, result.findings], [1, []]);
    else
      assert.deepEqual(
        result.findings.map(({ code, severity }) => [code, severity]),
        [["no_skill", "note"]],
      );
  });
}

test("too few scored dates are no verdict on skill", async () => {
  const { featurePath, dataExtractorPath } = writePlantedBlobs(
    [plantedMarket("linear", 2, { days: 200, tickers: 5 })],
    await newFolder(),
  );
  const result = await skill.run(inputsOf(featurePath, dataExtractorPath), contextOf());
  assert.equal(result.status, "not_run");
  assert.match(result.reason!, /over 80 dates/);
});
