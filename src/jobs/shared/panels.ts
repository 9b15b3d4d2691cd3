import { join } from "node:path";
import type { PanelSettings } from "../../contract/config/panel-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { type ArrayRef, readNpyRows, removeArray, writeNpy } from "../../engine/npy.ts";
import * as cross from "../../panel/cross-section.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import {
  MIN_DATE_TICKERS,
  type RelativeTarget,
  relativeTargets,
  type TargetForm,
} from "../../panel/relative-target.ts";
import { countBefore } from "../../panel/rows.ts";
import {
  MIN_FIT_ROWS,
  type PanelRows,
  type TickerInput,
  type TickerPanel,
} from "../../panel/ticker-panel.ts";
import type { Listed } from "./listed-warnings.ts";
import { buildPanel, type ReadPanel } from "./read-inputs.ts";

/** A panel whose features are in a file of the work folder, so that thousands of tickers keep only small parts in memory. */
export interface FitPanel extends PanelRows {
  /** Shape (rows, k): every row, labelled or not. In a preview no file, because no plan reads it. */
  readonly x: ArrayRef;
  /** The warnings that list the ticker because of these features. */
  readonly listed: readonly Listed[];
}

/** A ticker with too few fit rows at the cut, which may have enough for a later block; its features are in a file. */
type ShortTicker = Omit<TickerInput, "features"> & {
  readonly features: Omit<TickerInput["features"], "values">;
  readonly values: ArrayRef;
};

export interface ReadTickers {
  readonly panels: readonly FitPanel[];
  readonly failures: readonly Failure[];
  /** Those of the failures that may join a later block; empty in a job without refits. */
  readonly short: readonly ShortTicker[];
}

/** Where panels are kept: a job writes their features, a preview drops them. */
export interface PanelStore {
  readonly workFolder: string;
  readonly isPreview: boolean;
}

type ListPanel = (panel: TickerPanel) => readonly Listed[];

function storeFeatures(
  { workFolder, isPreview }: PanelStore,
  name: string,
  { x, days }: TickerPanel,
): ArrayRef {
  if (isPreview) return { ref: "", dtype: "<f8", shape: [], order: "C" };
  return writeNpy(join(workFolder, `${name}.npy`), x, [days.length, x.length / days.length]);
}

/**
 * Reads every ticker and stores its features at once. File names never contain a ticker's name.
 * @throws MucastError of the reading; output_failed if the work folder's disk is full.
 */
export async function readTickers(
  read: AsyncIterable<ReadPanel>,
  store: PanelStore,
  { refitEvery, signal }: { readonly refitEvery: number | undefined; readonly signal: AbortSignal },
  listedOf: ListPanel,
): Promise<ReadTickers> {
  const panels: FitPanel[] = [];
  const failures: Failure[] = [];
  const short: ShortTicker[] = [];
  for await (const one of read) {
    signal.throwIfAborted();
    if (!("code" in one)) {
      panels.push({ ...one, x: storeFeatures(store, `panel${panels.length}`, one), listed: listedOf(one) });
      continue;
    }
    const { input, ...failure } = one;
    failures.push(failure);
    if (input === undefined || refitEvery === undefined) continue;
    const { values, ...features } = input.features;
    const path = join(store.workFolder, `short${short.length}.npy`);
    const shape = [features.columns.length, features.days.length];
    short.push({ ...input, features, values: writeNpy(path, values, shape) });
  }
  return { panels, failures, short };
}

/** The panel with its features in memory. @param removes whether its file is removed. */
export function loadPanel(panel: FitPanel, removes: boolean): TickerPanel & Pick<FitPanel, "listed"> {
  const x = readNpyRows(panel.x, 0, panel.days.length);
  if (removes) removeArray(panel.x.ref);
  return { ...panel, x };
}

/** The panels after tickers were compared. */
export interface ComparedTickers {
  readonly panels: readonly FitPanel[];
  readonly failures: readonly Failure[];
  /** `thin_dates`, once for the job. */
  readonly warnings: readonly Warning[];
  /** The names of all z-scores, which no feature of a further ticker may have. */
  readonly zScores: ReadonlySet<string>;
  /** Compares a further ticker with these, without affecting them. */
  compare(panel: TickerPanel): TickerPanel;
}

/**
 * Adds z-scores and targets to panels, as the settings require, before anything is planned.
 * @param name of the files of this comparison. @param removes whether no other comparison reads the given panels.
 * @throws MucastError invalid_data if a feature has the name of a z-score; output_failed if the work folder's disk is full.
 */
export function compareTickers(
  read: Pick<ReadTickers, "panels" | "failures">,
  { crossSection, target }: PanelSettings,
  store: PanelStore,
  name: string,
  removes: boolean,
): ComparedTickers {
  const same: ComparedTickers = { ...read, warnings: [], zScores: new Set(), compare: (panel) => panel };
  const scored = crossSection ? addZScores(read, store, name, removes) : same;
  return target === "return" ? scored : addTargets(scored, target);
}

function addTargets(
  { panels, failures, warnings, zScores, compare }: ComparedTickers,
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
    zScores,
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
  { panels, failures }: Pick<ReadTickers, "panels" | "failures">,
  store: PanelStore,
  name: string,
  removes: boolean,
): ComparedTickers {
  const scored = cross.scoredFeatures(panels);
  requireNewNames(panels, scored);
  const counts = cross.countFeatures(panels, scored);
  const ascending = panels.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker));
  const loadAll = function* () {
    for (const panel of ascending) yield loadPanel(panel, false);
  };
  const sections = store.isPreview ? undefined : cross.crossSections(loadAll, ascending, scored);
  /** The rows that have all z-scores of their ticker, with the names of these behind its columns. */
  const select = <P extends PanelRows>(panel: P) => {
    const kept = cross.rowsWithZScores(panel, counts);
    const names = panel.columns.filter((column) => scored.has(column)).map(cross.zScoreName);
    const columns = [...panel.columns, ...names];
    const lastRowDay = panel.days.at(-1)!;
    return { kept, panel: { ...cross.onRows(panel, kept), columns, zScores: names.length, lastRowDay } };
  };
  const all = panels.map((source) => ({ source, ...select(source) }));
  const added = all
    .filter(({ panel }) => panel.fit.length >= MIN_FIT_ROWS)
    .map(({ source, kept, panel }, i): FitPanel => {
      if (sections === undefined) return panel;
      const values = besideZScores(loadPanel(source, removes), kept, sections);
      const path = join(store.workFolder, `${name}z${i}.npy`);
      return { ...panel, x: writeNpy(path, values, [kept.length, panel.columns.length]) };
    });
  const thinRows = all.reduce((sum, { source, kept }) => sum + source.days.length - kept.length, 0);
  const because = `on dates on which at least ${MIN_DATE_TICKERS} tickers have its features, at least ${MIN_FIT_ROWS} are needed: cross_section compares the tickers of a date`;
  const message = `${counted(thinRows, "row")} on dates on which fewer than ${MIN_DATE_TICKERS} tickers have a feature ${thinRows === 1 ? "is" : "are"} left out: cross_section compares the tickers of a date.`;
  return {
    panels: added,
    failures: [
      ...failures,
      ...failShort(
        all.map(({ panel }) => panel),
        because,
      ),
    ],
    warnings: warnThin(thinRows, message),
    zScores: new Set([...scored].map(cross.zScoreName)),
    compare: (source) => {
      const { kept, panel } = select(source);
      return { ...panel, x: sections === undefined ? source.x : besideZScores(source, kept, sections) };
    },
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
 * The panels of short tickers that later blocks give enough rows: each as of the first date of the first such block, `joins`. No later row
 * affects this, and none is forecast before that date.
 * @param isPooled whether one regressor learns from all tickers: late ones add no features to it and are not listed for
 *   theirs.
 */
export function joinShortTickers(
  short: readonly ShortTicker[],
  blocks: readonly RefitBlock[],
  { panels, zScores, compare }: Pick<ComparedTickers, "panels" | "zScores" | "compare">,
  store: PanelStore,
  name: string,
  { isPooled, listedOf }: { readonly isPooled: boolean; readonly listedOf: ListPanel },
): FitPanel[] {
  const early = new Set(panels.flatMap(({ columns }) => columns));
  const isAllowed = (feature: string) => !zScores.has(feature) && (!isPooled || early.has(feature));
  const joined: FitPanel[] = [];
  for (const { values, ...ticker } of short) {
    const features = { ...ticker.features, ...readFeatures(ticker.features.columns, values, isAllowed) };
    for (const { known } of blocks) {
      if (known === undefined || countBefore(ticker.prices.days, known) < MIN_FIT_ROWS) continue;
      const panel = buildPanel({ ...ticker, features, window: { ...ticker.window, cut: known } });
      if ("code" in panel) continue;
      const compared = compare(panel);
      if (compared.fit.length < MIN_FIT_ROWS) continue;
      const score = compared.score.filter((row) => compared.days[row]! >= known);
      const x = storeFeatures(store, `${name}joined${joined.length}`, compared);
      joined.push({ ...compared, score, joins: known, x, listed: isPooled ? [] : listedOf(panel) });
      break;
    }
  }
  return joined;
}

/** @param file shape (columns, days). */
function readFeatures(
  columns: readonly string[],
  file: ArrayRef,
  isAllowed: (feature: string) => boolean,
): Pick<TickerInput["features"], "columns" | "values"> {
  const kept = [...columns.keys()].filter((c) => isAllowed(columns[c]!));
  const n = file.shape[1]!;
  const values = new Float64Array(kept.length * n);
  for (const [to, from] of kept.entries()) values.set(readNpyRows(file, from, from + 1), to * n);
  return { columns: kept.map((c) => columns[c]!), values };
}
