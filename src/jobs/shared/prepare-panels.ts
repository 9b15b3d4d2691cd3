import { join } from "node:path";
import type { PanelSettings } from "../../contract/config/panel-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { readNpyRows, removeArray, writeNpy } from "../../engine/npy.ts";
import {
  type CrossSections,
  countFeatures,
  crossSections,
  type FeatureCounts,
  type FeatureRows,
  onRows,
  rowsWithZScores,
  scoredFeatures,
  zScoreName,
  zScores,
} from "../../panel/cross-section.ts";
import type { Peers } from "../../panel/late-ticker.ts";
import { MIN_DATE_TICKERS, relativeTargets } from "../../panel/relative-target.ts";
import { MIN_FIT_ROWS, type PanelRows } from "../../panel/ticker-panel.ts";
import type { PanelFiles, PanelOnDisk } from "./panel-files.ts";

/** The panels after tickers were compared. */
export interface Prepared<P> {
  readonly panels: readonly P[];
  readonly failures: readonly Failure[];
  /** `thin_dates`, once for the job. */
  readonly warnings: readonly Warning[];
  /** What late tickers are compared with when they join. */
  readonly peers: Peers;
}

type Compared<P> = Omit<Prepared<P>, "warnings"> & { readonly thinRows: number };

/**
 * Adds z-scores and targets to panels, as the settings require, before anything is planned.
 * @throws MucastError invalid_data if a feature has the name of a z-score; output_failed if the work folder's disk is full.
 */
export function preparePanels<P extends PanelOnDisk>(
  files: PanelFiles<P>,
  settings: PanelSettings,
  workFolder: string,
): Prepared<P> {
  const scored = settings.crossSection ? addZScores(files, workFolder) : { ...files, thinRows: 0, peers: {} };
  return withTargets(scored, settings);
}

/** The same panels without their features, for a preview. @throws MucastError invalid_data like `preparePanels`. */
export function preparedRows<P extends PanelRows>(
  panels: readonly P[],
  settings: PanelSettings,
): Prepared<P> {
  if (!settings.crossSection) return withTargets({ panels, failures: [], thinRows: 0, peers: {} }, settings);
  const { members, failures, thinRows, counts } = planCrossSection(panels);
  const remaining = members.map(({ panel }) => panel);
  return withTargets({ panels: remaining, failures, thinRows, peers: { counts } }, settings);
}

function withTargets<P extends PanelRows>(
  { panels, failures, thinRows, peers }: Compared<P>,
  { target }: PanelSettings,
): Prepared<P> {
  const rowsWarning = thinRows === 0 ? [] : [thinRowsWarning(thinRows)];
  if (target === "return") return { panels, failures, warnings: rowsWarning, peers };
  const { byTicker, levels, thinDates, ofOther } = relativeTargets(panels);
  const short: Failure[] = [];
  const learning = panels.flatMap((panel) => {
    const own = byTicker.get(panel.ticker)!;
    const fit = panel.fit.filter((row) => !Number.isNaN(own.values[row]!));
    if (fit.length >= MIN_FIT_ROWS) return [{ ...panel, fit, relative: { ...own, levels } }];
    short.push(tooFewTargets(panel.ticker, fit.length));
    return [];
  });
  const datesWarning = thinDates === 0 ? [] : [thinDatesWarning(thinDates)];
  return {
    panels: learning,
    failures: [...failures, ...short],
    warnings: [...rowsWarning, ...datesWarning],
    peers: { ...peers, targetsOf: ofOther },
  };
}

function tooFewTargets(ticker: string, fitRows: number): Failure {
  const message = `${ticker} has ${counted(fitRows, "fit row")} with a relative target, at least ${MIN_FIT_ROWS} are needed (such a row needs labels of at least ${MIN_DATE_TICKERS} tickers on its date, and these labels must differ)`;
  return { ticker, code: "few_tickers", message };
}

function thinRowsWarning(count: number): Warning {
  const message = `${counted(count, "row")} on dates on which fewer than ${MIN_DATE_TICKERS} tickers have a feature ${count === 1 ? "is" : "are"} left out: cross_section compares the tickers of a date.`;
  return { code: "thin_dates", message, count };
}

function thinDatesWarning(count: number): Warning {
  const message = `${counted(count, "date")} with fewer than ${MIN_DATE_TICKERS} labels ${count === 1 ? "is" : "are"} not used for training: target relative compares the tickers of a date.`;
  return { code: "thin_dates", message, count };
}

/** The rows and columns that the panels of a job get from `cross_section`. */
interface CrossSectionPlan<P extends PanelRows> {
  readonly members: readonly CrossSectionMember<P>[];
  readonly failures: readonly Failure[];
  /** The number of dropped rows, over all tickers. */
  readonly thinRows: number;
  /** Names of the features that have a z-score. */
  readonly scored: ReadonlySet<string>;
  /** Ranges of these features, over the tickers that were read. */
  readonly counts: FeatureCounts;
}

interface CrossSectionMember<P extends PanelRows> {
  readonly source: P;
  /** Ascending rows of `source` that have all their z-scores. */
  readonly kept: Int32Array;
  /** Those rows; the columns are those of `source`, followed by the names of their z-scores. */
  readonly panel: P;
}

/**
 * Plans z-scores from dates and names alone. Drops rows that lack a z-score of any scored feature.
 * @throws MucastError invalid_data if a feature has the name of another one's z-score.
 */
function planCrossSection<P extends PanelRows>(panels: readonly P[]): CrossSectionPlan<P> {
  const scored = scoredFeatures(panels);
  requireNewNames(panels, scored);
  const counts = countFeatures(panels, scored);
  const members: CrossSectionMember<P>[] = [];
  const failures: Failure[] = [];
  let thinRows = 0;
  for (const source of panels) {
    const kept = rowsWithZScores(source, counts);
    thinRows += source.days.length - kept.length;
    const names = source.columns.filter((name) => scored.has(name)).map(zScoreName);
    const columns = [...source.columns, ...names];
    const lastRowDay = source.days.at(-1)!;
    const panel = { ...onRows(source, kept), columns, zScores: names.length, lastRowDay };
    if (panel.fit.length >= MIN_FIT_ROWS) members.push({ source, kept, panel });
    else failures.push(tooFewRows(panel));
  }
  return { members, failures, thinRows, scored, counts };
}

function tooFewRows({ ticker, fit }: PanelRows): Failure {
  const message = `${ticker} has ${counted(fit.length, "fit row")} on dates on which at least ${MIN_DATE_TICKERS} tickers have its features, at least ${MIN_FIT_ROWS} are needed: cross_section compares the tickers of a date`;
  return { ticker, code: "few_tickers", message };
}

function requireNewNames(panels: readonly PanelRows[], scored: ReadonlySet<string>): void {
  const names = new Set(panels.flatMap(({ columns }) => columns));
  const clash = [...scored].find((name) => names.has(zScoreName(name)));
  if (clash === undefined) return;
  const message = `The feature "${zScoreName(clash)}" has the name that cross_section gives to the z-score of "${clash}": rename one of them`;
  throw new MucastError("invalid_data", message, { path: "features", value: zScoreName(clash) });
}

/**
 * Adds to each feature its z-score among the tickers of its date, in new files that replace the old ones.
 * @throws MucastError invalid_data like `planCrossSection`; output_failed if the work folder's disk is full.
 */
function addZScores<P extends PanelOnDisk>(
  files: PanelFiles<P>,
  workFolder: string,
): PanelFiles<P> & { readonly thinRows: number; readonly peers: Peers } {
  const { members, failures, thinRows, scored, counts } = planCrossSection(files.panels);
  const ascending = files.panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  // Dropped rows, and tickers that fail, still count among the others of their dates.
  function* readAll(): Generator<FeatureRows> {
    for (const panel of ascending) yield featureRows(panel);
  }
  const sections = crossSections(readAll, ascending, scored);
  const panels: P[] = [];
  for (const [i, { source, kept, panel }] of members.entries()) {
    const values = besideZScores(featureRows(source), kept, sections);
    const x = writeNpy(join(workFolder, `z${i}.npy`), values, [kept.length, panel.columns.length]);
    removeArray(source.x.ref);
    panels.push({ ...panel, x });
  }
  const used = new Set(members.map(({ source }) => source));
  for (const panel of files.panels) if (!used.has(panel)) removeArray(panel.x.ref);
  const everyRow = (rows: FeatureRows) => Int32Array.from(rows.days.keys());
  const peers = {
    counts,
    besideZScores: (rows: FeatureRows) => besideZScores(rows, everyRow(rows), sections),
  };
  return { panels, failures: [...files.failures, ...failures], thinRows, peers };
}

function featureRows({ columns, days, x }: PanelOnDisk): FeatureRows {
  return { columns, days, x: readNpyRows(x, 0, days.length) };
}

/** Shape (kept, features + z-scores): the features of these rows, then their z-scores. */
function besideZScores(rows: FeatureRows, kept: Int32Array, sections: CrossSections): Float64Array {
  const scores = zScores(rows, sections);
  const k = rows.columns.length;
  const z = scores.length / rows.days.length;
  const values = new Float64Array(kept.length * (k + z));
  for (const [to, from] of kept.entries()) {
    values.set(rows.x.subarray(from * k, (from + 1) * k), to * (k + z));
    values.set(scores.subarray(from * z, (from + 1) * z), to * (k + z) + k);
  }
  return values;
}
