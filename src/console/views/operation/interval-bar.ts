import { svgElement } from "../../dom.ts";

/** A forecast with its interval, as log-returns; an end is null if it does not exist. */
interface ForecastInterval {
  readonly mu: number;
  readonly interval?: { readonly lower: number | null; readonly upper: number | null } | undefined;
}

/** The range of values that all bars of a table share. It contains zero. */
export interface BarScale {
  readonly low: number;
  readonly high: number;
}

export function scaleOf(forecasts: readonly ForecastInterval[]): BarScale {
  const values = forecasts.flatMap(({ mu, interval }) =>
    [mu, interval?.lower, interval?.upper].filter((value) => typeof value === "number"),
  );
  return { low: Math.min(0, ...values), high: Math.max(0, ...values) };
}

/** The width of a bar in units of its grid, which the page stretches. */
const GRID = 1_000;
const HEIGHT = 14;

/** Places of a bar on the grid. An interval without an end reaches to the edge. */
export function placesOf({ low, high }: BarScale, { mu, interval }: ForecastInterval) {
  const width = high - low;
  const across = (value: number) => (width > 0 ? Math.round((GRID * (value - low)) / width) : GRID / 2);
  return {
    from: interval === undefined ? undefined : across(interval.lower ?? low),
    to: interval === undefined ? undefined : across(interval.upper ?? high),
    mu: across(mu),
    zero: across(0),
  };
}

/** The interval as a bar, a line at zero and a mark at mu. Its cell has the same as text, so screen readers skip it. */
export function intervalBar(scale: BarScale, forecast: ForecastInterval): SVGSVGElement {
  const { from, to, mu, zero } = placesOf(scale, forecast);
  return svgElement(
    "svg",
    {
      class: "marks bar",
      viewBox: `0 0 ${GRID} ${HEIGHT}`,
      preserveAspectRatio: "none",
      height: HEIGHT,
      "aria-hidden": "true",
    },
    from !== undefined && svgElement("path", { class: "band", d: `M${from} 4H${to}V10H${from}z` }),
    svgElement("path", { class: "zero", d: `M${zero} 0V${HEIGHT}` }),
    svgElement("path", { class: "mu", d: `M${mu} 1V13` }),
  );
}
