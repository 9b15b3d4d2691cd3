import { join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { inTurns } from "../../contract/machine/pausable.ts";
import { compareCodePoints } from "../../contract/market/ticker-order.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import { readNpyRows, removeArray, writeNpy } from "../../engine/npy.ts";
import {
  type CrossSections,
  crossSections,
  type FeatureRows,
  rowsWithZScores,
  scoredFeatures,
  zScoreName,
  zScores,
} from "../../panel/cross-section.ts";
import { MIN_DATE_TICKERS } from "../../panel/relative-target.ts";
import { LEAST_FIT_ROWS, type PanelRows } from "../../panel/ticker-panel.ts";
import type { PanelFiles, PanelOnDisk } from "./panel-files.ts";

/** Panels without the rows that lack a z-score, and the names of the z-scores behind their features; `x` is as it was. */
export interface CrossSectioned<P extends PanelRows> {
  readonly panels: readonly (P & { readonly kept: Int32Array; readonly ownColumns: readonly string[] })[];
  readonly failures: readonly Failure[];
  /** Rows of all tickers that were left out. */
  readonly thinRows: number;
  readonly scored: ReadonlySet<string>;
}

/**
 * Which rows and columns a job has with `cross_section`, from dates alone. A row without a z-score of each scored feature is left out.
 * @throws MucastError invalid_data where a feature has the name of another one's z-score.
 */
export async function planCrossSection<P extends PanelRows>(
  panels: readonly P[],
  signal: AbortSignal,
): Promise<CrossSectioned<P>> {
  const scored = scoredFeatures(panels);
  requireNewNames(panels, scored);
  const has = await inTurns(rowsWithZScores(panels, scored), signal);
  const failures: Failure[] = [];
  let thinRows = 0;
  const remaining = panels.flatMap((panel) => {
    const rows = Int32Array.from(has.get(panel.ticker)!.keys()).filter(
      (row) => has.get(panel.ticker)![row] === 1,
    );
    thinRows += panel.days.length - rows.length;
    const kept = onRows(panel, rows);
    if (kept.fit.length >= LEAST_FIT_ROWS) {
      const names = panel.columns.filter((name) => scored.has(name)).map(zScoreName);
      return [{ ...kept, columns: [...panel.columns, ...names], ownColumns: panel.columns, kept: rows }];
    }
    failures.push(tooFewRows(panel.ticker, kept.fit.length));
    return [];
  });
  return { panels: remaining, failures, thinRows, scored };
}

function tooFewRows(ticker: string, fitRows: number): Failure {
  const message = `${ticker} has ${counted(fitRows, "fit row")} on dates on which ${MIN_DATE_TICKERS} tickers or more have its features, at least ${LEAST_FIT_ROWS} are needed: cross_section compares the tickers of a date`;
  return { ticker, code: "insufficient_history", message };
}

function requireNewNames(panels: readonly PanelRows[], scored: ReadonlySet<string>): void {
  const names = new Set(panels.flatMap(({ columns }) => columns));
  const taken = [...scored].find((name) => names.has(zScoreName(name)));
  if (taken === undefined) return;
  const message = `The feature "${zScoreName(taken)}" has the name that cross_section gives to the z-score of "${taken}": rename one of them`;
  throw new MucastError("invalid_data", message, { path: "features", value: zScoreName(taken) });
}

/** The panel with these of its rows, ascending. */
export function onRows<P extends PanelRows>(panel: P, rows: Int32Array): P {
  const places = new Int32Array(panel.days.length).fill(-1);
  for (const [to, from] of rows.entries()) places[from] = to;
  const moved = (list: Int32Array) => list.map((row) => places[row]!).filter((row) => row >= 0);
  const { days, labelDays, y, volatility, fit, score } = panel;
  return {
    ...panel,
    days: rows.map((row) => days[row]!),
    labelDays: rows.map((row) => labelDays[row]!),
    y: Float64Array.from(rows, (row) => y[row]!),
    volatility: Float64Array.from(rows, (row) => volatility[row]!),
    fit: moved(fit),
    score: moved(score),
  };
}

/**
 * Puts beside each feature its z-score among the tickers of its date, in new files in place of the old ones.
 * @throws MucastError invalid_data as `planCrossSection` does; output_failed where the work folder's disk is full.
 */
export async function addZScores<P extends PanelOnDisk>(
  files: PanelFiles<P>,
  workFolder: string,
  signal: AbortSignal,
): Promise<PanelFiles<P> & { readonly thinRows: number }> {
  const plan = await planCrossSection(files.panels, signal);
  const ascending = plan.panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  function* read(): Generator<FeatureRows> {
    for (const panel of ascending) yield featureRows(panel);
  }
  const sections = await inTurns(crossSections(read, ascending, plan.scored), signal);
  const panels = plan.panels.map((panel, i) => {
    signal.throwIfAborted();
    const { kept: _, ownColumns: __, ...rest } = panel;
    const values = withZScores(featureRows(panel), sections);
    const shape = [panel.days.length, panel.columns.length];
    const x = writeNpy(join(workFolder, `z${i}.npy`), values, shape);
    removeArray(panel.x.ref);
    return { ...rest, x } as unknown as P;
  });
  return { panels, failures: [...files.failures, ...plan.failures], thinRows: plan.thinRows };
}

function featureRows({
  x,
  kept,
  ownColumns,
  days,
}: PanelOnDisk & { readonly kept: Int32Array; readonly ownColumns: readonly string[] }): FeatureRows {
  const all = readNpyRows(x, 0, x.shape[0]!);
  const k = ownColumns.length;
  if (kept.length === x.shape[0]) return { columns: ownColumns, days, x: all };
  const values = new Float64Array(kept.length * k);
  for (const [to, from] of kept.entries()) values.set(all.subarray(from * k, (from + 1) * k), to * k);
  return { columns: ownColumns, days, x: values };
}

function withZScores(rows: FeatureRows, sections: CrossSections): Float64Array {
  const scores = zScores(rows, sections);
  const n = rows.days.length;
  const [k, z] = [rows.columns.length, n === 0 ? 0 : scores.length / n];
  const values = new Float64Array(n * (k + z));
  for (let i = 0; i < n; i++) {
    values.set(rows.x.subarray(i * k, (i + 1) * k), i * (k + z));
    values.set(scores.subarray(i * z, (i + 1) * z), i * (k + z) + k);
  }
  return values;
}
