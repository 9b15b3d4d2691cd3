import { seededRandom } from "../../test/twins/random.ts";
import { parseDlSettings } from "../contract/config/dl-settings.ts";
import { type MlCandidates, type MlSettings, parseMlSettings } from "../contract/config/ml-settings.ts";
import { type Day, formatDay, parseDay } from "../contract/market/dates.ts";
import { compareCodePoints } from "../contract/market/ticker-series.ts";
import type { OutputBlob } from "../contract/output/output-blob.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import { outOfFoldMeans, trainingMeans } from "../evaluate/baselines.ts";
import { deviation, mean, rootMeanSquare } from "../evaluate/statistics.ts";
import { CandidateFits, combineRegressors } from "../jobs/shared/combine-candidates.ts";
import { evaluateForecasts } from "../jobs/shared/evaluate-forecasts.ts";
import { jobDocument, plain } from "../jobs/shared/job-document.ts";
import { judgedBy, type ModelledTicker } from "../jobs/shared/modelled-ticker.ts";
import { orderedPieces } from "../jobs/shared/ordered-json.ts";
import { NO_ENGINE, provenance } from "../jobs/shared/provenance.ts";
import { recordedDl, recordedMl } from "../jobs/shared/recorded-settings.ts";
import type { OutputDocument } from "./open-document.ts";
import { summaryOf } from "./output-summary.ts";
import { outOfFoldRows, scoredRows, seriesReader } from "./scored-rows.ts";

/** A market whose forecasts were not made by a model, so that outputs of any size and skill are available at once. */
export interface Market {
  readonly tickers?: readonly string[];
  /** The number of fit rows. */
  readonly fitRows?: number;
  /** The number of score rows per ticker; all but the last have labels. */
  readonly scoreRows?: number;
  /** Whether no score row has a label, as without `Learning_end`; there is then one. */
  readonly isOpen?: boolean;
  /** The share of signal in a forecast: 0 for no skill. */
  readonly skill?: number;
  /** Seed of the forecasts; the returns depend only on `market`. */
  readonly seed?: number;
  readonly market?: number;
  /** The config's own section, for intervals, shrinkage and choice. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The number of folds; with `choice`, of its warm-up folds and the published ones. */
  readonly folds?: number;
  /** With `choice`: the skill of each candidate, the first included. */
  readonly skills?: readonly number[];
  readonly warnings?: readonly Warning[];
}

const FOLD_ROWS = 20;
const FIRST_DAY = parseDay("2015-01-02")!;

interface TickerRows {
  readonly ticker: string;
  /** Weekdays, fit rows first. */
  readonly days: Int32Array;
  readonly labels: Float64Array;
  readonly predicted: Float64Array;
  readonly volatility: Float64Array;
}

/** An output in memory, as `openDocument` reads it from a file. */
export function outputDocument(name: string, sha256: string, output: OutputBlob): OutputDocument {
  const read = seriesReader(name);
  const seriesOf = (part: "forecasts" | "cross_validation") =>
    new Map(Object.entries(output[part] ?? {}).map(([ticker, value]) => [ticker, read(part, ticker, value)]));
  const document = summaryOf(output);
  const tested = output.cross_validation && seriesOf("cross_validation");
  return {
    ...{ name, sha256, document },
    rows: scoredRows(document, seriesOf("forecasts")),
    outOfFold: tested && outOfFoldRows(name, document, tested),
  };
}

/** The JSON text of an output of run_ml_job, assembled and evaluated as the job does it. */
export function mlText(market: Market = {}): string {
  const { folds = 3, config = {}, warnings = [] } = market;
  const text = JSON.stringify({ "ML params": { model: "ridge", ...config } });
  const { settings } = parseMlSettings(text);
  const { rows, fit } = marketRows(market);
  const { choice, tickers: fitted } = fittedTickers(market, settings.choice, folds);
  const asOf = rows[0]?.days.at(-1) ?? FIRST_DAY;
  const evaluation = evaluateForecasts(fitted, "out_of_fold", settings, asOf);
  const document = jobDocument({
    ...shared(rows, fit, asOf),
    operation: "run_ml_job",
    fits: { tickers: fitted, failures: [], ...(choice && { choice }) },
    evaluation,
    intervals: settings.intervals,
    shrinkage: settings.shrinkage,
    model: recordedMl(settings),
    candidates: settings.choice?.candidates.map((candidate) => recordedMl(candidate.settings)) ?? [],
    warnings: [...evaluation.warnings, ...warnings],
    provenance: provenance({ operation: "run_ml_job", ...inputs(text, null) }),
  });
  return [...orderedPieces(document)].join("");
}

/** The forecasts of the market; with `choice` those of its members, where each candidate has a seed of its own. */
function fittedTickers(market: Market, choice: MlCandidates | undefined, folds: number) {
  const fittedBy = (own: Market) => {
    const { rows, fit } = marketRows(own);
    return rows.map((row) => fittedTicker(row, fit, folds));
  };
  if (choice === undefined) return { choice: undefined, tickers: fittedBy(market) };
  const { skill = 0, seed = 1, skills = [] } = market;
  const fits = choice.candidates.map((_, c) =>
    fittedBy({ ...market, skill: skills[c] ?? skill, seed: seed + c }),
  );
  const all = new CandidateFits<MlSettings>();
  for (const [c, candidate] of choice.candidates.entries())
    all.add(candidate, fits[c]!, { failures: [], warnings: [] });
  return combineRegressors(all, { failures: [], listed: [], warnings: [] }, choice);
}

/** The same for run_dl_job. @param epochs the number of training epochs of each network. */
export function dlText(market: Market = {}, epochs = 12): string {
  const { config = {}, warnings: more = [] } = market;
  const text = JSON.stringify({ "NN params": { "Dot prediction": { "current option": "lstm", ...config } } });
  const { settings, warnings } = parseDlSettings(text);
  const { rows, fit } = marketRows(market);
  const isOn = settings.status;
  const isAlone = settings.ensemble === 1;
  const trained = isOn
    ? rows.map((row, i) => ({
        ...trainedTicker(row, fit, settings.intervals !== undefined),
        ...(isAlone ? {} : { spread: 0.001 * (i + 1) }),
      }))
    : [];
  const asOf = rows[0]?.days.at(-1) ?? FIRST_DAY;
  const judged = settings.intervals === undefined ? "validation" : "calibration";
  const evaluation = evaluateForecasts(trained, judged, settings, asOf);
  const course = (later: number) => ({
    epochs: Array.from({ length: epochs + later }, (_, i) => ({
      train_loss: 1 - 0.01 * i,
      validation_loss: 1 + (i - 3 - later) ** 2 / 1_000,
    })),
    best_epoch: Math.min(4, epochs) + later,
    zero_validation_loss: 1.002,
  });
  const members = Array.from({ length: settings.ensemble - 1 }, (_, i) => ({
    member: i + 1,
    ...course(i + 1),
  }));
  const training = new Map(
    trained.map(({ ticker }) => [
      ticker,
      { ...course(0), parameters: 36_129, ...(isAlone ? {} : { members }) },
    ]),
  );
  const document = jobDocument({
    ...shared(rows, fit, asOf),
    operation: "run_dl_job",
    fits: { tickers: trained, failures: [], training: plain(training) },
    evaluation,
    intervals: settings.intervals,
    shrinkage: settings.shrinkage,
    model: recordedDl(settings),
    warnings: [...warnings, ...evaluation.warnings, ...more],
    provenance: provenance({ operation: "run_dl_job", ...inputs(text, 42) }),
  });
  return [...orderedPieces(document)].join("");
}

/** Returns with a common part, fat tails and changing volatility; forecasts are `skill` times the return, plus noise. */
function marketRows({
  tickers = ["AAA", "BBB", "CCC", "DDD", "EEE", "FFF", "GGG", "HHH"],
  fitRows = 150,
  scoreRows = 120,
  isOpen = false,
  skill = 0,
  seed = 1,
  market = 1,
}: Market) {
  const [returns, noise] = [seededRandom(market), seededRandom(seed + 1_000)];
  const length = fitRows + (isOpen ? 1 : scoreRows);
  const days = weekdays(length);
  const common = Array.from({ length }, () => 0.007 * returns.normal());
  const rows = [...tickers].sort(compareCodePoints).map((ticker): TickerRows => {
    let volatility = 0.012;
    const labels = new Float64Array(length);
    const deviations = new Float64Array(length);
    for (let i = 0; i < length; i++) {
      const shock = volatility * returns.normal();
      volatility = Math.sqrt(2e-6 + 0.88 * volatility ** 2 + 0.1 * shock ** 2);
      labels[i] = common[i]! + shock;
      deviations[i] = volatility;
    }
    const predicted = labels.map((y) => skill * y + 0.002 * noise.normal());
    labels[length - 1] = Number.NaN;
    return { ticker, days, labels, predicted, volatility: deviations };
  });
  return { rows, fit: fitRows };
}

function weekdays(count: number): Int32Array {
  const days = new Int32Array(count);
  let day = FIRST_DAY;
  for (let i = 0; i < count; day++) {
    // Day 0, 1970-01-01, was a Thursday.
    const weekday = (day + 4) % 7;
    if (weekday !== 0 && weekday !== 6) days[i++] = day;
  }
  return days;
}

function scoreOf({ days, labels, predicted, volatility }: TickerRows, fit: number) {
  const score = days.subarray(fit);
  return {
    days: score,
    labels: labels.subarray(fit),
    labelDays: score.map((_, i) => score[i + 1] ?? 0),
    predicted: predicted.subarray(fit),
    volatility: volatility.subarray(fit),
    spans: [],
  };
}

function tickerFacts({ ticker, days }: TickerRows, fit: number) {
  const last = days.at(-1)!;
  return {
    ticker,
    dates: { ticker, days, lastPriceDay: last, lastFeatureDay: last },
    rows: {
      fitRows: fit,
      features: 2,
      spans: Int32Array.of(0, fit, 0, 0, 0, 0, 0, 0, 0, 0, 0),
      latestSpan: 1,
      warmUp: { rows: 0, feature: undefined },
    },
    warnings: [],
    listed: [],
  };
}

function fittedTicker(row: TickerRows, fit: number, folds: number): ModelledTicker {
  const starts = Array.from({ length: folds }, (_, k) => fit - (folds - k) * FOLD_ROWS);
  const ranges = starts.map((start) => ({
    trainStart: 0,
    trainEnd: start,
    testStart: start,
    testEnd: start + FOLD_ROWS,
  }));
  const labels = row.labels.subarray(0, fit);
  const tested = fit - folds * FOLD_ROWS;
  const heldOut = {
    ticker: row.ticker,
    days: row.days.subarray(tested, fit),
    labelDays: row.days.subarray(tested + 1, fit + 1),
    predicted: row.predicted.subarray(tested, fit),
    spans: [],
    realised: row.labels.subarray(tested, fit),
    trainingMean: outOfFoldMeans(labels, ranges),
    labelDeviation: deviation(labels),
  };
  return {
    ...tickerFacts(row, fit),
    folds: ranges,
    fitDays: row.days.subarray(0, fit),
    fitLabels: labels,
    heldOut,
    ...{ residuals: heldOut, tested: [heldOut], unit: rootMeanSquare(labels.subarray(0, starts[0])) ** 2 },
    score: scoreOf(row, fit),
    models: [modelOf(row, fit)],
    importances: [
      { feature: "momentum", importance: -0.75 },
      { feature: "volatility", importance: 0.25 },
    ],
  };
}

/** The one model of a ticker. */
function modelOf(row: TickerRows, fit: number) {
  const labelMean = mean(row.labels.subarray(0, fit));
  return { block: 0, from: 0, to: row.days.length - fit, fitRows: fit, labelMean, isStandIn: false };
}

/** @param hasIntervals if false, there is no calibration part. */
function trainedTicker(row: TickerRows, fit: number, hasIntervals: boolean): ModelledTicker {
  const [validate, calibrate] = [Math.floor(0.7 * fit), hasIntervals ? Math.floor(0.85 * fit) : fit];
  const part = (from: number, to: number) => ({
    ticker: row.ticker,
    days: row.days.subarray(from, to),
    labelDays: row.days.subarray(from + 1, to + 1),
    realised: row.labels.subarray(from, to),
    predicted: row.predicted.subarray(from, to),
    trainingMean: trainingMeans(row.labels.subarray(0, validate), to - from),
    spans: [],
  });
  const residuals = part(calibrate, fit);
  const span = (from: number, to: number) => ({
    start: formatDay(row.days[from]!),
    end: formatDay(row.days[to - 1]!),
  });
  return {
    ...tickerFacts(row, fit),
    fitLabels: row.labels.subarray(0, fit),
    ...judgedBy(part(validate, calibrate), residuals),
    unit: 0,
    score: scoreOf(row, fit),
    models: [modelOf(row, fit)],
    splits: {
      train: span(0, validate),
      validate: span(validate, calibrate),
      calibrate: hasIntervals ? span(calibrate, fit) : null,
    },
  };
}

function shared(rows: readonly TickerRows[], fit: number, asOf: Day) {
  const learningEnd = rows[0]?.days[fit - 1] ?? FIRST_DAY;
  return {
    id: "1",
    createdAt: new Date(0),
    window: { start: FIRST_DAY, end: asOf, learningEnd, cut: learningEnd },
    asOf,
    machine: null,
  };
}

function inputs(config: string, seed: number | null) {
  const blob = (name: string, digit: string) => ({ name, sha256: digit.repeat(64) });
  return {
    digests: { feature: blob("feature.json", "1"), dataExtractor: blob("prices.json", "2") },
    config,
    engine: { ...NO_ENGINE, versions: { python: "3.12.0" } },
    seed,
    device: "cpu",
  };
}
