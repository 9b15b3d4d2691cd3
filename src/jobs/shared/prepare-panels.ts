import type { PanelSettings } from "../../contract/config/panel-settings.ts";
import { counted } from "../../contract/errors/wording.ts";
import { inTurns } from "../../contract/machine/pausable.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { Peers } from "../../panel/late-ticker.ts";
import { MIN_DATE_TICKERS, relativeTargets } from "../../panel/relative-target.ts";
import { MIN_FIT_ROWS, type PanelRows } from "../../panel/ticker-panel.ts";
import { addZScores, planCrossSection } from "./cross-section-files.ts";
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
export async function preparePanels<P extends PanelOnDisk>(
  files: PanelFiles<P>,
  settings: PanelSettings,
  workFolder: string,
  signal: AbortSignal,
): Promise<Prepared<P>> {
  const scored = settings.crossSection
    ? await addZScores(files, workFolder, signal)
    : { ...files, thinRows: 0, peers: {} };
  return withTargets(scored, settings, signal);
}

/** The same panels without their features, for a preview. @throws MucastError invalid_data like `preparePanels`. */
export async function preparedRows<P extends PanelRows>(
  panels: readonly P[],
  settings: PanelSettings,
  signal: AbortSignal,
): Promise<Prepared<P>> {
  if (!settings.crossSection)
    return withTargets({ panels, failures: [], thinRows: 0, peers: {} }, settings, signal);
  const { members, failures, thinRows, counts } = await planCrossSection(panels, signal);
  const remaining = members.map(({ panel }) => panel);
  return withTargets({ panels: remaining, failures, thinRows, peers: { counts } }, settings, signal);
}

async function withTargets<P extends PanelRows>(
  { panels, failures, thinRows, peers }: Compared<P>,
  { target }: PanelSettings,
  signal: AbortSignal,
): Promise<Prepared<P>> {
  const rowsWarning = thinRows === 0 ? [] : [thinRowsWarning(thinRows)];
  if (target === "return") return { panels, failures, warnings: rowsWarning, peers };
  const { byTicker, levels, thinDates, ofOther } = await inTurns(relativeTargets(panels), signal);
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
  const message = `${ticker} has ${counted(fitRows, "fit row")} with a relative target, at least ${MIN_FIT_ROWS} are needed: at least ${MIN_DATE_TICKERS} tickers have a label on the date of such a row, and their labels differ`;
  return { ticker, code: "insufficient_history", message };
}

function thinRowsWarning(count: number): Warning {
  const message = `${counted(count, "row")} on dates on which fewer than ${MIN_DATE_TICKERS} tickers have a feature ${count === 1 ? "is" : "are"} left out: cross_section compares the tickers of a date.`;
  return { code: "thin_dates", message, count };
}

function thinDatesWarning(count: number): Warning {
  const message = `${counted(count, "date")} with fewer than ${MIN_DATE_TICKERS} labels teach${count === 1 ? "es" : ""} nothing: target relative compares the tickers of a date.`;
  return { code: "thin_dates", message, count };
}
