/** How a number is formatted. Shares and counts are never negative; `return` shows its sign. */
export type Unit = "number" | "share" | "return" | "count" | ComparedUnit;

/**
 * The figures by which runs are compared. They have the same decimals everywhere, so that a column of them lines up: an IC or a rank IC, an
 * R², a coverage or a hit rate and an RMSE in percent, a forecast (a log-return) in basis points, a t, the sum of the ICs of many dates, and
 * a ratio.
 */
export type ComparedUnit = "ic" | "r2" | "coverage" | "rmse" | "mu" | "t" | "sum" | "ratio";

export interface ComparedFormat {
  readonly decimals: number;
  readonly factor: number;
  readonly symbol: string;
  /** Whether a positive value has a sign. */
  readonly isSigned: boolean;
}

export const COMPARED_FORMATS: Readonly<Record<ComparedUnit, ComparedFormat>> = {
  ic: { decimals: 3, factor: 1, symbol: "", isSigned: true },
  r2: { decimals: 2, factor: 100, symbol: "%", isSigned: true },
  coverage: { decimals: 1, factor: 100, symbol: "%", isSigned: false },
  rmse: { decimals: 3, factor: 100, symbol: "%", isSigned: false },
  mu: { decimals: 1, factor: 1e4, symbol: "bp", isSigned: true },
  t: { decimals: 2, factor: 1, symbol: "", isSigned: false },
  sum: { decimals: 1, factor: 1, symbol: "", isSigned: false },
  ratio: { decimals: 3, factor: 1, symbol: "", isSigned: false },
};

/** The return of a day, to a tenth of a basis point. */
const DAILY_RETURN: ComparedFormat = { decimals: 3, factor: 100, symbol: "%", isSigned: true };
/** The sum of the returns of many days. */
const SUMMED_RETURN: ComparedFormat = { ...DAILY_RETURN, decimals: 1 };
const LARGE_RETURN = 0.1;

const DIGITS = 4;
const MINUS = "\u2212";
const NARROW_SPACE = "\u202f";

/** Shown instead of a number that does not exist. */
export const NO_FIGURE = "\u2013";

/**
 * A number for readers, with its unit: four significant digits, one decimal of a share, or the decimals of a compared figure. A return is
 * in percent with its sign.
 */
export function figure(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined || !Number.isFinite(1e4 * value)) return NO_FIGURE;
  switch (unit) {
    case "count":
      return grouped(String(Math.round(value)));
    case "number":
      return decimal(value);
    case "share":
      return `${share(100 * value)}${NARROW_SPACE}%`;
    case "return":
      return compared(value, Math.abs(value) < LARGE_RETURN ? DAILY_RETURN : SUMMED_RETURN);
    default:
      return compared(value, COMPARED_FORMATS[unit]);
  }
}

function compared(value: number, { decimals, factor, symbol, isSigned }: ComparedFormat): string {
  const scaled = value * factor;
  if (Math.abs(scaled) >= 1e9) return `${decimal(scaled)}${symbol && NARROW_SPACE}${symbol}`;
  const text = Math.abs(scaled).toFixed(decimals);
  const sign = Number(text) === 0 ? "" : scaled < 0 ? MINUS : isSigned ? "+" : "";
  return `${sign}${grouped(text)}${symbol && NARROW_SPACE}${symbol}`;
}

/** A percentage with one decimal, or with four digits if that would leave nothing of it. */
function share(percentage: number): string {
  return percentage === 0 || percentage >= 0.1 ? grouped(percentage.toFixed(1)) : decimal(percentage);
}

export function signedFigure(difference: number | null, unit: Unit): string {
  const text = figure(difference === null ? null : Math.abs(difference), unit).replace(/^\+/, "");
  const sign = difference === null || !/[1-9]/.test(text) ? "" : difference < 0 ? MINUS : "+";
  return `${sign}${text}`;
}

/** A difference of two compared figures, with its sign and one decimal more than they have. */
export function figureDifference(difference: number | null, unit: ComparedUnit): string {
  if (difference === null || !Number.isFinite(difference)) return NO_FIGURE;
  const format = COMPARED_FORMATS[unit];
  return compared(difference, { ...format, decimals: format.decimals + 1, isSigned: true });
}

/** A sentence of an output as the other figures of a page look: `-2.97%` with a minus sign and a narrow space. */
export function typesetFigures(sentence: string): string {
  return sentence.replaceAll(/(?<=[ (])-(?=\d)/g, MINUS).replaceAll(/(?<=\d)%/g, `${NARROW_SPACE}%`);
}

/** A whole percentage, for example the coverage of a band; its sign stays on the same line. */
export function wholePercent(percent: number): string {
  return `${percent}${NARROW_SPACE}%`;
}

/** A decimal number, without an exponent if its size is ordinary. */
function decimal(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e9 || size < 1e-7) return value.toExponential(DIGITS - 1).replaceAll("-", MINUS);
  const magnitude = Math.floor(Math.log10(Number(size.toPrecision(DIGITS))));
  const text = size.toFixed(Math.max(0, DIGITS - 1 - magnitude));
  return `${value < 0 ? MINUS : ""}${grouped(text)}`;
}

function grouped(text: string): string {
  const [whole, fraction] = text.split(".");
  const parts = whole!.replaceAll(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? parts : `${parts}.${fraction}`;
}

/** A count with its noun and separated thousands: `1,006 dates`. */
export function countedRows(count: number, noun: string): string {
  return `${figure(count, "count")} ${noun}${count === 1 ? "" : "s"}`;
}

/** A band as `low to high`, of forecasts with the unit once. */
export function bandFigure(
  { low, high }: { readonly low: number; readonly high: number },
  unit: Unit,
): string {
  return unit === "mu" ? muRange(low, high) : `${figure(low, unit)} to ${figure(high, unit)}`;
}

/** A range of forecasts, such as `−1.5 to +2.0 bp`. An end is null if it does not exist. */
export function muRange(low: number | null, high: number | null): string {
  const [from, to] = [figure(low, "mu"), figure(high, "mu")];
  return to === NO_FIGURE ? `${from} to ${to}` : `${from.split(NARROW_SPACE)[0]} to ${to}`;
}
