import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { cleanMarket } from "../../../bench/audit/clean-markets.ts";
import { formatDay } from "../../contract/market/dates.ts";
import { preparePrices } from "../../prepare/prepare-prices.ts";
import { auditContext, auditInputs, checked } from "../checked.testing.ts";
import { foresight } from "../foresight/foresight.ts";
import { runAudit } from "../run-audit.ts";
import { centredFeature, centredOnSample } from "./faulty-prepare.testing.ts";
import { preparation } from "./preparation.ts";
import type { AuditedCsv, Prepare } from "./prepared-prices.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-preparation-"));
after(() => rmSync(folder, { recursive: true }));

const SIZE = { tickers: 4, days: 300 };
const { prices } = cleanMarket(1, SIZE);
const DATES = Array.from(prices[0]!.days, formatDay);

/** A wide CSV with a decimal comma, in gzip; the last ticker starts on row 250, others have gaps. */
const CSV = join(folder, "prices.csv.gz");
const rows = DATES.map((date, i) => {
  const cells = prices.map(({ prices: own }, t) =>
    (t === 3 && i < 250) || (t === 1 && i % 40 === 7) ? "" : String(own[i]).replace(".", ","),
  );
  return [date, ...cells].join(";");
});
const CSV_TEXT = `Date;${prices.map(({ ticker }) => ticker).join(";")}\n${rows.join("\n")}\n`;
writeFileSync(CSV, gzipSync(CSV_TEXT));

const REQUEST = { config: '{"ML params": {"model": "ridge"}}', id: "audit" };

function audit(options: AuditedCsv["options"] = {}, prepare: Prepare = preparePrices, csvPath = CSV) {
  return checked(preparation, { request: REQUEST, csv: { csvPath, options } }, {}, { prepare });
}

test("features of `prepare` do not depend on later prices: tickers that start late, gaps, a window", async () => {
  for (const options of [
    {},
    { start: DATES[20], end: DATES[280], learningEnd: DATES[200], tickers: ["S03", "S01"] },
  ]) {
    const { status, findings, facts, tests, steps } = await audit(options);
    assert.deepEqual([status, findings], ["clean", []]);
    assert.ok(tests > 2 * 2 * 200 * 27 * 0.9, String(tests));
    assert.deepEqual(steps, ["1/3", "2/3", "3/3"]);
    assert.equal((facts.cut_after as string[]).length, 2);
  }
});

test("the CSV is cut after dates of the prepared tickers, which may start after the learning has ended", async () => {
  const { status, facts } = await audit({
    start: DATES[0],
    learningEnd: DATES[100],
    tickers: ["S03"],
  });
  assert.equal(status, "clean");
  for (const cut of facts.cut_after as string[]) assert.ok(cut >= DATES[250]!, cut);
});

test("gives no verdict on a CSV that changes meanwhile", async () => {
  const changing = join(folder, "changing.csv.gz");
  writeFileSync(changing, readFileSync(CSV));
  const growing: Prepare = async (request) => {
    const blobs = await preparePrices(request);
    if (request.csvPath === changing) writeFileSync(changing, gzipSync(`${CSV_TEXT}\n`));
    return blobs;
  };
  await assert.rejects(audit({}, growing, changing), {
    code: "blob_unavailable",
    message: /changed while it was audited/,
  });
});

test("a centred moving average in one feature of one ticker is found, and nothing else", async () => {
  const { status, findings } = await audit({}, centredFeature("S02", "mom_5"));
  assert.equal(status, "found");
  assert.deepEqual(
    findings.map(({ code, severity, feature, ticker }) => [code, severity, feature, ticker]),
    [["prepared_value_changed", "high", "mom_5", "S02"]],
  );
  const { values, date, cut_after } = findings[0]!.evidence;
  // The last row before each cut, which has no next one.
  assert.deepEqual([values, date], [2, (cut_after as string[])[0]]);
});

test("values minus the mean of the whole sample are found in every ticker that has them", async () => {
  const { findings } = await audit({}, centredOnSample("vol_21"));
  assert.deepEqual(
    findings.map(({ feature, ticker, evidence }) => [feature, ticker, evidence.tickers]),
    [["vol_21", undefined, 4]],
  );
});

test("a universe chosen by its state at the end is found: its other tickers are missing before", async () => {
  const survivors: Prepare = (request) =>
    preparePrices(
      request.csvPath === CSV ? { ...request, options: { tickers: ["S00", "S01", "S03"] } } : request,
    );
  const { findings } = await audit({}, survivors);
  const [prices, ...features] = findings.map(({ feature, ticker }) => [feature, ticker]);
  assert.deepEqual(prices, [undefined, "S02"]);
  // Features that compare tickers depend on which tickers are compared.
  assert.ok(features.some(([feature, ticker]) => feature === "rank_5" && ticker === undefined));
});

test("without blobs the other checks judge the prepared ones, which are then removed", async () => {
  const before = readdirSync(folder);
  const { inputs, checks, verdict } = await runAudit(
    auditInputs({ request: REQUEST, csv: { csvPath: CSV, options: {} } }),
    auditContext(),
    { checks: [preparation, foresight] },
  );
  assert.equal(verdict, "clean");
  assert.deepEqual([checks.preparation!.status, checks.foresight!.facts.tickers], ["clean", 4]);
  assert.match(inputs.feature.url, /^feature_engine_[0-9a-f]{16}\.json$/);
  const sha256 = createHash("sha256").update(readFileSync(CSV)).digest("hex");
  assert.deepEqual(inputs.prices, { url: "prices.csv.gz", sha256 });
  assert.deepEqual(readdirSync(folder), before);
});

test("ends with its signal between two cuts; without a CSV it is not run", async () => {
  const caller = new AbortController();
  const report = () => caller.abort(new Error("no longer wanted"));
  const asked = { request: REQUEST, csv: { csvPath: CSV, options: {} } };
  await assert.rejects(checked(preparation, asked, { signal: caller.signal, report }), {
    code: "canceled",
  });
  const request = { ...REQUEST, featureUrl: CSV, dataExtractorUrl: CSV };
  const { status, reason } = await checked(preparation, { request });
  assert.deepEqual([status, reason], ["not_run", "no price CSV was given (--prices)"]);
});
