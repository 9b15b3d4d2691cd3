import { join } from "node:path";
import type { PanelSettings, RefitSettings } from "../../contract/config/panel-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { type ArrayRef, readNpyRows, removeArray, writeNpy } from "../../engine/npy.ts";
import * as cross from "../../panel/cross-section.ts";
import { joinAt, type RefitBlock } from "../../panel/refit-blocks.ts";
import {
  MIN_DATE_TICKERS,
  type RelativeTarget,
  relativeTargets,
  type TargetForm,
} from "../../panel/relative-target.ts";
import { MIN_FIT_ROWS, type PanelRows, type TickerPanel } from "../../panel/ticker-panel.ts";
import type { Listed } from "./job-warnings.ts";
import { buildLatePanel, type ReadPanel } from "./read-inputs.ts";

/** A panel whose features are in a file of the work folder, so that thousands of tickers keep only small parts in memory. */
export interface FitPanel extends PanelRows {
  /** Shape (rows, k): every row, labelled or not. In a preview no file, because no plan reads it. */
  readonly x: ArrayRef;
  /** The warnings that list the ticker because of these features. */
  readonly listed: readonly Listed[];
}

export interface ReadTickers {
  readonly panels: readonly FitPanel[];
  readonly failures: readonly Failure[];
  /** Those of the failures that have enough rows at a later date, each as of that date; empty without refits. */
  readonly late: readonly FitPanel[];
}

export interface PanelStore {
  readonly workFolder: string;
  readonly isPreview: boolean;
}

/**
 * Reads every ticker and stores its features at once. File names never contain a ticker's name.
 * @throws MucastError of the reading; output_failed if the work folder's disk is full.
 */
export async function readTickers(
  read: AsyncIterable<ReadPanel>,
  { workFolder, isPreview }: PanelStore,
  { refit_every }: RefitSettings,
  signal: AbortSignal,
  listedOf: (panel: TickerPanel) => readonly Listed[],
): Promise<ReadTickers> {
  let files = 0;
  const store = (panel: TickerPanel): FitPanel => {
    const { x, days, columns } = panel;
    const path = join(workFolder, `panel${files++}.npy`);
    const file = isPreview ? NO_FILE : writeNpy(path, x, [days.length, columns.length]);
    return { ...panel, x: file, listed: listedOf(panel) };
  };
  const panels: FitPanel[] = [];
  const failures: Failure[] = [];
  const late: FitPanel[] = [];
  for await (const one of read) {
    signal.throwIfAborted();
    if ("code" in one) {
      const { input, ...failure } = one;
      failures.push(failure);
      const panel = input === undefined || refit_every === undefined ? undefined : buildLatePanel(input);
      if (panel !== undefined) late.push(store(panel));
    } else panels.push(store(one));
  }
  return { panels, failures, late };
}

/** Of a preview, whose plans read no features. */
const NO_FILE: ArrayRef = { ref: "", dtype: "<f8", shape: [], order: "C" };

/** The panel with its features in memory. @param removes whether its file is removed. */
export function loadPanel(panel: FitPanel, removes: boolean): TickerPanel & Pick<FitPanel, "listed"> {
  const x = readNpyRows(panel.x, 0, panel.days.length);
  if (removes) removeArray(panel.x.ref);
  return { ...panel, x };
}

export interface ComparedTickers {
  readonly panels: readonly FitPanel[];
  readonly failures: readonly Failure[];
  /** `thin_dates`, once for the job. */
  readonly warnings: readonly Warning[];
  /** Compares a late ticker with these, without affecting them. */
  compare(panel: FitPanel): FitPanel;
}

/**
 * Adds z-scores and targets to panels, as the settings require, before anything is planned.
 * @param name of the files of this comparison. @param removes whether no other comparison reads the given panels.
 * @throws MucastError invalid_data if a feature has the name of a z-score; output_failed if the work folder's disk is full.
 */
export function compareTickers(
  read: ReadTickers,
  { cross_section, target }: PanelSettings,
  store: PanelStore,
  name: string,
  removes: boolean,
): ComparedTickers {
  const same: ComparedTickers = { ...read, warnings: [], compare: (panel) => panel };
  const scored = cross_section ? addZScores(read, store, name, removes) : same;
  return target === "return" ? scored : addTargets(scored, target);
}

function addTargets(
  { panels, failures, warnings, compare }: ComparedTickers,
  target: TargetForm,
): ComparedTickers {
  const { byTicker, levels, thinDates, ofOther } = relativeTargets(panels, target);
  const withTarget = <P extends PanelRows>(panel: P, relative: RelativeTarget): P => {
    const fit = panel.fit.filter((row) => !Number.isNaN(relative.values[row]!));
    return { ...panel, fit, relative };
  };
  const all = panels.map((panel) => withTarget(panel, { ...byTicker.get(panel.ticker)!, levels }));
  const because = `with a relative target, at least ${MIN_FIT_ROWS} are needed (such a row needs labels of at least ${MIN_DATE_TICKERS} tickers on its date, and these labels must differ)`;
  const message = `${counted(thinDates, "date")} with fewer than ${MIN_DATE_TICKERS} labels ${thinDates === 1 ? "is" : "are"} not used for training: target ${target} compares the tickers of a date.`;
  return {
    panels: all.filter(({ fit }) => fit.length >= MIN_FIT_ROWS),
    failures: [...failures, ...failShort(all, because)],
    warnings: [...warnings, ...warnThin(thinDates, message)],
    compare: (panel) => {
      const scored = compare(panel);
      return withTarget(scored, ofOther(scored));
    },
  };
}

function failShort(panels: readonly PanelRows[], because: string): Failure[] {
  const short = panels.filter(({ fit }) => fit.length < MIN_FIT_ROWS);
  return short.map(({ ticker, fit }) => {
    const message = `${ticker} has ${counted(fit.length, "fit row")} ${because}`;
    return { ticker, code: "few_tickers", message };
  });
}

function warnThin(count: number, message: string): Warning[] {
  return count === 0 ? [] : [{ code: "thin_dates", message, count }];
}

/**
 * Adds to each feature its z-score among the tickers of its date, and drops the rows that lack one. Dropped rows, and tickers that fail,
 * still count among the others of their dates.
 */
function addZScores(
  { panels, failures, late }: ReadTickers,
  { workFolder, isPreview }: PanelStore,
  name: string,
  removes: boolean,
): ComparedTickers {
  const scored = cross.scoredFeatures(panels);
  requireNewNames([...panels, ...late], scored);
  const counts = cross.countFeatures(panels, scored);
  const ascending = panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const loadAll = function* () {
    for (const panel of ascending) yield loadPanel(panel, false);
  };
  const sections = isPreview ? undefined : cross.crossSections(loadAll, ascending, scored);
  /** The rows that have all z-scores of their ticker, with the names of these behind its columns. */
  const select = (source: FitPanel) => {
    const kept = cross.rowsWithZScores(source, counts);
    const names = source.columns.filter((column) => scored.has(column)).map(cross.zScoreName);
    const columns = [...source.columns, ...names];
    const lastRowDay = source.days.at(-1)!;
    const panel = { ...cross.onRows(source, kept), columns, zScores: names.length, lastRowDay };
    return { source, kept, panel };
  };
  let files = 0;
  const store = ({ source, kept, panel }: ReturnType<typeof select>): FitPanel => {
    if (sections === undefined) return panel;
    const values = besideZScores(loadPanel(source, removes), kept, sections);
    const path = join(workFolder, `${name}z${files++}.npy`);
    return { ...panel, x: writeNpy(path, values, [kept.length, panel.columns.length]) };
  };
  const all = panels.map(select);
  const thinRows = all.reduce((sum, { source, kept }) => sum + source.days.length - kept.length, 0);
  const because = `on dates on which at least ${MIN_DATE_TICKERS} tickers have its features, at least ${MIN_FIT_ROWS} are needed: cross_section compares the tickers of a date`;
  const message = `${counted(thinRows, "row")} on dates on which fewer than ${MIN_DATE_TICKERS} tickers have a feature ${thinRows === 1 ? "is" : "are"} left out: cross_section compares the tickers of a date.`;
  return {
    panels: all.filter(({ panel }) => panel.fit.length >= MIN_FIT_ROWS).map(store),
    failures: [...failures, ...all.flatMap(({ panel }) => failShort([panel], because))],
    warnings: warnThin(thinRows, message),
    compare: (source) => store(select(source)),
  };
}

function requireNewNames(panels: readonly PanelRows[], scored: ReadonlySet<string>): void {
  const names = new Set(panels.flatMap(({ columns }) => columns));
  const clash = [...scored].find((name) => names.has(cross.zScoreName(name)));
  if (clash === undefined) return;
  const score = cross.zScoreName(clash);
  const message = `The feature "${score}" has the name that cross_section gives to the z-score of "${clash}": rename one of them`;
  throw new MucastError("invalid_data", message, { path: "features", value: score });
}

/** Shape (kept, features + z-scores): the features of these rows, then their z-scores. */
function besideZScores(
  rows: cross.FeatureRows,
  kept: Int32Array,
  sections: cross.CrossSections,
): Float64Array {
  const scores = cross.zScores(rows, sections);
  const k = rows.columns.length;
  const z = scores.length / rows.days.length;
  const values = new Float64Array(kept.length * (k + z));
  for (const [to, from] of kept.entries()) {
    values.set(rows.x.subarray(from * k, (from + 1) * k), to * (k + z));
    values.set(scores.subarray(from * z, (from + 1) * z), to * (k + z) + k);
  }
  return values;
}

/**
 * Adds the late tickers, each from the first block on whose first date gives it enough rows to learn from: no later row affects this, and
 * none is forecast before that date. Some have nothing to forecast.
 */
export function joinLate(
  { compare, ...compared }: ComparedTickers,
  late: readonly FitPanel[],
  blocks: readonly RefitBlock[],
): ComparedTickers {
  const joined = late.flatMap((panel) => {
    const all = { ...compare(panel), fit: new Int32Array(0), score: Int32Array.from(panel.days.keys()) };
    for (const { known } of blocks) {
      const own = known === undefined ? undefined : joinAt(all, known);
      if (own !== undefined && own.fit.length >= MIN_FIT_ROWS) return [own];
    }
    return [];
  });
  return { ...compared, compare, panels: [...compared.panels, ...joined] };
}

/** Whether a ticker can have forecasts: from some late ones, a model of all tickers only learns. */
export function isForecast({ joins, score }: FitPanel): boolean {
  return joins === undefined || score.length > 0;
}
