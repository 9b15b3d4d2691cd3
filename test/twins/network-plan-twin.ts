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

export interface TwinJoint {
  readonly tickers: readonly string[];
  /** By ticker. */
  readonly excluded: Readonly<Record<string, string>>;
  readonly dates: Readonly<Record<"train" | "validate" | "calibrate" | "score", readonly string[]>>;
  /** The sample of each date in order, with each ticker's entry: the date on which its window ends, or null. */
  readonly windows: readonly (readonly (string | null)[])[];
  /** The same for the training and validation dates: the label that counts, or null. */
  readonly labels: readonly (readonly (number | null)[])[];
}

/** The plan of a joint network, in a slow and obvious way: every question is asked again for every date and ticker. */
export function slowJoint(
  all: readonly TwinTicker[],
  lookback: number,
  calibrates: boolean,
  delay: number,
): TwinJoint {
  const excluded: Record<string, string> = {};
  for (;;) {
    // Tickers of these tests are plain ASCII, which sorts the same by unit and by code point.
    const present = all
      .filter(({ ticker }) => !(ticker in excluded))
      .sort((a, b) => (a.ticker < b.ticker ? -1 : 1));
    const parts = slowDates(present, lookback, calibrates);
    const dates = {
      ...parts,
      train: parts.train.filter((_, i) => i < parts.train.length - delay),
      validate: calibrates
        ? parts.validate.filter((_, i) => i < parts.validate.length - delay)
        : parts.validate,
    };
    const counts = (row: TwinRow): boolean => countsAsLabel(row, parts);
    let leaving = false;
    for (const { ticker, panel } of present) {
      const learned = withWindow(panel, panel.fit, lookback).filter(
        (row) => dates.train.includes(row.date) && counts(row),
      );
      const reason = saysNothing(learned);
      if (reason === undefined) continue;
      excluded[ticker] = reason;
      leaving = true;
    }
    if (leaving) continue;
    const windowOn = (date: string, { panel }: TwinTicker): TwinRow | undefined => {
      const dated = panel.rows.filter((row) => row.date === date);
      return withWindow(panel, dated, lookback)[0];
    };
    const watched = [...dates.train, ...dates.validate];
    return {
      tickers: present.map(({ ticker }) => ticker),
      excluded,
      dates,
      windows: [...watched, ...dates.calibrate, ...dates.score].map((date) =>
        present.map((ticker) => windowOn(date, ticker)?.date ?? null),
      ),
      labels: watched.map((date) =>
        present.map((ticker) => {
          const row = windowOn(date, ticker);
          return row && ticker.panel.fit.includes(row) && counts(row) ? row.label : null;
        }),
      ),
    };
  }
}

function slowDates(present: readonly TwinTicker[], lookback: number, calibrates: boolean) {
  const union = (rows: (panel: TwinPanel) => readonly TwinRow[]): string[] => [
    ...new Set(
      present.flatMap(({ panel }) => withWindow(panel, rows(panel), lookback).map((row) => row.date)),
    ),
  ];
  const fit = union((panel) => panel.fit).sort();
  const [validate, calibrate] = shares(fit.length, calibrates);
  const calibrateFrom = Math.max(0, fit.length - calibrate);
  const validateFrom = Math.max(0, calibrateFrom - validate);
  return {
    train: fit.slice(0, validateFrom),
    validate: fit.slice(validateFrom, calibrateFrom),
    calibrate: fit.slice(calibrateFrom),
    score: union((panel) => panel.score).sort(),
  };
}

/** Realised by the first date of the next part. */
function countsAsLabel(row: TwinRow, { train, validate, calibrate }: TwinJoint["dates"]): boolean {
  if (train.includes(row.date)) return row.labelDate! <= validate[0]!;
  return calibrate.length === 0 || row.labelDate! <= calibrate[0]!;
}
