import { join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { inTurns } from "../../contract/machine/pausable.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
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
import { MIN_DATE_TICKERS } from "../../panel/relative-target.ts";
import { MIN_FIT_ROWS, type PanelRows } from "../../panel/ticker-panel.ts";
import type { PanelFiles, PanelOnDisk } from "./panel-files.ts";

/** The rows and columns that the panels of a job get from `cross_section`. */
export interface CrossSectionPlan<P extends PanelRows> {
  readonly members: readonly CrossSectionMember<P>[];
  readonly failures: readonly Failure[];
  /** The number of dropped rows, over all tickers. */
  readonly thinRows: number;
  /** Names of the features that have a z-score. */
  readonly scored: ReadonlySet<string>;
  /** Ranges of these features, over the tickers that were read. */
  readonly counts: FeatureCounts;
}

export interface CrossSectionMember<P extends PanelRows> {
  /** The panel as it was read. */
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
export async function planCrossSection<P extends PanelRows>(
  panels: readonly P[],
  signal: AbortSignal,
): Promise<CrossSectionPlan<P>> {
  const scored = scoredFeatures(panels);
  requireNewNames(panels, scored);
  const counts = await inTurns(countFeatures(panels, scored), signal);
  const members: CrossSectionMember<P>[] = [];
  const failures: Failure[] = [];
  let thinRows = 0;
  for (const source of panels) {
    signal.throwIfAborted();
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
  const message = `${ticker} has ${counted(fit.length, "fit row")} on dates on which ${MIN_DATE_TICKERS} tickers or more have its features, at least ${MIN_FIT_ROWS} are needed: cross_section compares the tickers of a date`;
  return { ticker, code: "insufficient_history", message };
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
 * @throws MucastError invalid_data as `planCrossSection` does; output_failed if the work folder's disk is full.
 */
export async function addZScores<P extends PanelOnDisk>(
  files: PanelFiles<P>,
  workFolder: string,
  signal: AbortSignal,
): Promise<PanelFiles<P> & { readonly thinRows: number; readonly peers: Peers }> {
  const { members, failures, thinRows, scored, counts } = await planCrossSection(files.panels, signal);
  const ascending = files.panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  // Dropped rows, and tickers that fail, still count among the others of their dates.
  function* readAll(): Generator<FeatureRows> {
    for (const panel of ascending) yield featureRows(panel);
  }
  const sections = await inTurns(crossSections(readAll, ascending, scored), signal);
  const panels: P[] = [];
  for (const [i, { source, kept, panel }] of members.entries()) {
    signal.throwIfAborted();
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
