import type { TwinPanel, TwinRow } from "./panel-twin.ts";

export interface TwinTicker {
  readonly ticker: string;
  readonly panel: TwinPanel;
}

/** The windows of one ticker by their part; each is named by the date of its last row. */
export interface TwinWindows {
  readonly train: readonly TwinRow[];
  readonly validate: readonly TwinRow[];
  readonly calibrate: readonly TwinRow[];
  readonly score: readonly TwinRow[];
}

const LEAST = 30;

/** How many of n samples validate, and how many calibrate. */
function shares(n: number, calibrates: boolean): [validate: number, calibrate: number] {
  const part = (percent: number) => Math.max(1, (n * percent - ((n * percent) % 100)) / 100);
  return calibrates ? [part(15), part(15)] : [part(20), 0];
}

/** Rows with enough rows before them, counted one by one. */
function withWindow(panel: TwinPanel, rows: readonly TwinRow[], lookback: number): TwinRow[] {
  return rows.filter((row) => panel.rows.indexOf(row) + 1 >= lookback);
}

function saysNothing(rows: readonly TwinRow[]): string | undefined {
  if (rows.length < LEAST) return "insufficient_history";
  return new Set(rows.map((row) => row.label)).size === 1 ? "constant_target" : undefined;
}

/** The windows of one ticker, in a slow and obvious way; the code of its failure if it has too few. */
export function slowWindows(
  { panel }: TwinTicker,
  lookback: number,
  calibrates: boolean,
): TwinWindows | string {
  const fit = withWindow(panel, panel.fit, lookback);
  const [validate, calibrate] = shares(fit.length, calibrates);
  const parts: Record<string, TwinRow[]> = { train: [], validate: [], calibrate: [] };
  for (const [i, row] of fit.entries()) {
    const left = fit.length - i;
    parts[left <= calibrate ? "calibrate" : left <= calibrate + validate ? "validate" : "train"]!.push(row);
  }
  const known = (part: string, next: string) =>
    parts[part]!.filter((row) => parts[next]!.every((later) => row.labelDate! <= later.date));
  const train = known("train", "validate");
  return (
    saysNothing(train) ?? {
      train,
      validate: known("validate", "calibrate"),
      calibrate: parts.calibrate!,
      score: withWindow(panel, panel.score, lookback),
    }
  );
}
