import { join } from "node:path";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { counted } from "../../contract/errors/wording.ts";
import { inTurns, type Pausable } from "../../contract/machine/pausable.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { readArray } from "../../engine/inline-array.ts";
import { removeArray } from "../../engine/npy.ts";
import type { FitPredictResult } from "../../engine/pool/protocol.ts";
import { mean } from "../../evaluate/statistics.ts";
import { datesOf } from "../../panel/as-of.ts";
import { type FeatureUnion, uniteFeatures } from "../../panel/feature-union.ts";
import { hasFewRows } from "../../panel/few-rows.ts";
import { type PooledMember, type PooledPlan, planPooled } from "../../panel/pooled-plan.ts";
import { fitLabels, forecastReturns } from "../../panel/ticker-panel.ts";
import { type Listed, listedOfRows } from "../shared/listed-warnings.ts";
import type { PanelOnDisk } from "../shared/panel-files.ts";
import { rowFacts } from "../shared/row-facts.ts";
import { runEach } from "../shared/run-concurrently.ts";
import type { Importance } from "../shared/ticker-fits.ts";
import { constantWarning } from "../shared/ticker-warnings.ts";
import type { FitOptions, FittedTicker } from "./fit-ticker.ts";
import type { FitOutcome } from "./fit-tickers.ts";
import { planWarnings, refusedColumns } from "./plan-fits.ts";
import { type PooledMatrix, writePooledMatrix } from "./pooled-matrix.ts";

/** What stands for all tickers in warnings, progress and errors. */
export const POOLED = "pooled";

/** The one regressor of a pooled fit, as the output records it. */
export interface PooledFit {
  readonly fitRows: number;
  readonly features: number;
  /** Over the fit rows of all tickers, log-return. */
  readonly labelMean: number;
  /** Training rows of each fold, of all tickers. */
  readonly foldRows: readonly number[];
  readonly importances?: readonly Importance[];
}

/** What a pooled fit came to. */
export interface PooledOutcome extends FitOutcome {
  /** Absent where no ticker could take part. */
  readonly pooled?: PooledFit;
  readonly listed: readonly Listed[];
  readonly warnings: readonly Warning[];
}

/** A panel in the work folder with what its features show. */
export type ListedPanel = PanelOnDisk & { readonly listed: readonly Listed[] };

/**
 * Fits one regressor on the rows of all tickers: every fold, and the final model. A task is one fit, the largest first.
 * @throws MucastError fit_failed or engine_crashed where any of them fails, since all tickers depend on it; output_failed where the work
 *   folder's disk is full.
 */
export async function fitPooled(
  panels: readonly ListedPanel[],
  options: FitOptions & { readonly onFits: (done: number, planned: number) => void },
): Promise<PooledOutcome> {
  const { settings, workFolder, signal, timings } = options;
  const plan = await inTurns(planPooled(panels, settings), signal);
  const union = uniteFeatures(plan.members.map(({ panel }) => panel));
  const refused = refusedColumns({ ticker: POOLED, columns: union.names }, settings);
  if (refused !== undefined || panels.length === 0) {
    const failures =
      refused === undefined ? [] : panels.map(({ ticker }): Failure => ({ ...refused, ticker }));
    return { fitted: [], failures, listed: [], warnings: [] };
  }
  const matrix = await inTurns(writePooledMatrix(plan, union, workFolder), signal);
  for (const { x } of panels) removeArray(x.ref);
  const results = await runFits(plan, matrix, union, options);
  timings.finishAll();
  const fitted = await inTurns(fittedTickers(plan, union, results, settings), signal);
  for (const { ref } of [matrix.x, matrix.y]) removeArray(ref);
  const { importances, constant } = results.at(-1)!.result;
  return {
    fitted,
    failures: [],
    pooled: {
      fitRows: plan.fitRows,
      features: union.names.length,
      labelMean: labelMean(plan),
      foldRows: plan.folds.map(({ trainEnd }) => trainEnd),
      ...(importances && {
        importances: importances.map(([column, importance]) => ({
          feature: union.names[column]!,
          importance,
        })),
      }),
    },
    listed: listedOfPool(plan, union.names.length),
    warnings: [
      ...(constant === undefined ? [] : [constantWarning(POOLED, constant)]),
      ...unconverged(results),
    ].map(({ ticker: _, ...warning }) => warning),
  };
}

/** The predictions of one fit: of a fold's test rows, or of all score rows. */
interface FitPredictions {
  readonly result: FitPredictResult;
  readonly predicted: Float64Array;
  /** The row of the matrix that the first of them is of. */
  readonly from: number;
}

/** The fits of a plan in time order, the final one last. */
export function pooledFits({ folds, fitRows, scoreRows }: PooledPlan) {
  const final = { train: [0, fitRows], predict: [fitRows, fitRows + scoreRows], diagnose: true } as const;
  return [
    ...folds.map(
      ({ trainEnd, testEnd }) => ({ train: [0, trainEnd], predict: [trainEnd, testEnd] }) as const,
    ),
    final,
  ];
}

async function runFits(
  plan: PooledPlan<PanelOnDisk>,
  { x, y }: PooledMatrix,
  union: FeatureUnion,
  options: FitOptions & { readonly onFits: (done: number, planned: number) => void },
): Promise<readonly FitPredictions[]> {
  const { settings, pool, workFolder, timings, onFits } = options;
  await options.trial;
  const fits = pooledFits(plan);
  const hasAbsent = union.warnings.length > 0;
  let done = 0;
  onFits(done, fits.length);
  const results = new Map<number, FitPredictions>();
  const run = async (number: number, signal: AbortSignal): Promise<void> => {
    const fit = fits[number]!;
    const predictions = join(workFolder, `pooled-p${number}.npy`);
    const result = await pool.run(
      {
        task: "fit_predict",
        label: fit === fits.at(-1) ? POOLED : `${POOLED}, fold ${number + 1}`,
        estimator: settings.estimator,
        scaler: settings.scaler,
        x,
        y,
        fits: [fit],
        predictions: { ref: predictions },
        views: true,
        ...(hasAbsent ? { absent: true } : {}),
      },
      { signal, onProgress: ({ seconds }) => timings.add(POOLED, seconds) },
    );
    results.set(number, { result, predicted: readArray(result.predictions), from: fit.predict[0] });
    if (!("base64" in result.predictions)) removeArray(predictions);
    onFits(++done, fits.length);
  };
  await runEach(options.signal, async (start, signal) => {
    for (let number = fits.length - 1; number >= 0; number--) start(run(number, signal));
  });
  return fits.map((_, number) => results.get(number)!);
}

function* fittedTickers(
  plan: PooledPlan<ListedPanel>,
  union: FeatureUnion,
  fits: readonly FitPredictions[],
  settings: MlSettings,
): Pausable<FittedTicker[]> {
  const absent = Map.groupBy(union.warnings, ({ ticker }) => ticker);
  const fitted: FittedTicker[] = [];
  for (const member of plan.members) {
    yield 0;
    const { ticker } = member.panel;
    fitted.push(fittedTicker(member, plan, fits, settings, absent.get(ticker) ?? []));
  }
  return fitted;
}

function fittedTicker(
  member: PooledMember<ListedPanel>,
  plan: PooledPlan,
  fits: readonly FitPredictions[],
  settings: MlSettings,
  absent: readonly Warning[],
): FittedTicker {
  const { panel, places, folds } = member;
  const { ticker, days, fit, score } = panel;
  const rows = rowFacts(panel);
  const predicted = ({ predicted, from }: FitPredictions, begin: number, end: number) =>
    Float64Array.from(places.subarray(begin, end), (place) => predicted[place - from]!);
  const outOfFold = folds.map(({ fold, testStart, testEnd }) =>
    forecastReturns(
      panel,
      fit.subarray(testStart, testEnd),
      predicted(fits[fold]!, testStart, testEnd),
      plan.folds[fold]!.from,
    ),
  );
  const final = predicted(fits.at(-1)!, fit.length, places.length);
  return {
    ticker,
    dates: datesOf(panel),
    folds,
    fit: { days: Int32Array.from(fit, (row) => days[row]!), labels: fitLabels(panel) },
    outOfFold: Float64Array.from(outOfFold.flatMap((part) => [...part])),
    score: {
      days: Int32Array.from(score, (row) => days[row]!),
      labels: Float64Array.from(score, (row) => panel.y[row]!),
      labelDays: Int32Array.from(score, (row) => panel.labelDays[row]!),
      volatility: Float64Array.from(score, (row) => panel.volatility[row]!),
      predicted: forecastReturns(panel, score, final),
    },
    rows,
    warnings: [...planWarnings(panel, folds, settings), ...absent],
    // One regressor learns from all rows, so that a ticker's own rows are never too few for the features.
    listed: [...listedOfRows(ticker, { ...rows, features: 0 }), ...panel.listed],
  };
}

/** Lists the fit of all tickers where their rows together are too few for the features. */
export function listedOfPool({ fitRows, folds }: PooledPlan, features: number): Listed[] {
  const ranges = folds.map(({ trainEnd, testEnd }) => ({ trainEnd, testStart: trainEnd, testEnd }));
  if (!hasFewRows(fitRows, features, ranges)) return [];
  const detail = `${counted(fitRows, "fit row")}, ${counted(features, "feature")}`;
  return [{ code: "few_rows", ticker: POOLED, detail }];
}

function labelMean({ members, fitRows }: PooledPlan<PanelOnDisk>): number {
  const labels = new Float64Array(fitRows);
  for (const { panel, places } of members) {
    for (const [position, label] of fitLabels(panel).entries()) labels[places[position]!] = label;
  }
  return mean(labels);
}

function unconverged(fits: readonly FitPredictions[]): Warning[] {
  const count = fits.reduce((sum, { result }) => sum + result.unconverged_fits, 0);
  if (count === 0) return [];
  return [{ code: "not_converged", count, message: `${counted(count, "pooled fit")} did not converge.` }];
}
