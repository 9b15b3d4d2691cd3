import { figure } from "../../../view/figures.ts";
import { type Point, polyline } from "../../../view/path.ts";
import { element, fill, svgElement } from "../../dom.ts";
import type { ViewContext } from "../../view.ts";
import { counted, textElement } from "../../words.ts";
import { numbersTable } from "./numbers-table.ts";
import type { FollowedState, Panel } from "./panel.ts";
import { type CurvePoint, medianOf, type TrainingCurves } from "./training-curves.ts";
import { readZeroLosses, type ZeroLosses } from "./zero-losses.ts";

/** Maximum number of rows of the table below the chart, the newest epochs. */
const MAX_ROWS = 60;
/** The value that selects all networks; a single network is selected by its position. */
const ALL = "all";

/** The losses of the networks while they train: the median of all, or one network. Once the job has succeeded, also the loss of the zero forecast. */
export function trainingPanel(context: ViewContext): Panel {
  const select = element("select", {});
  const choice = element("label", {}, "Network ", select);
  const figureElement = element("figure");
  const section = element("section", { hidden: true }, element("h2", {}, "Training"), choice, figureElement);
  let followed: FollowedState | undefined;
  let drawn = "";
  let zeros: ZeroLosses | undefined;
  const draw = (): void => {
    const curves = followed!.curves;
    offer(select, curves.networks);
    choice.hidden = curves.networks.length < 2;
    const shown = chosen(curves, select.value, zeros);
    const text = JSON.stringify(shown);
    if (text === drawn) return;
    drawn = text;
    // A table that the reader has opened stays open.
    const isOpen = figureElement.querySelector("details")?.open ?? false;
    fill(figureElement, ...drawing(shown, curves.leftOut, isOpen));
  };
  const readZeros = async (outputName: string): Promise<void> => {
    zeros = new Map();
    // Without the output, the chart is whole except for one line.
    zeros = await readZeroLosses(outputName, context).catch(() => new Map());
    if (!context.signal.aborted) draw();
  };
  select.addEventListener("change", draw);
  return {
    element: section,
    show: (now) => {
      followed = now;
      section.hidden = now.curves.networks.length === 0;
      if (section.hidden) return;
      draw();
      const { result } = now.operation;
      if (result !== null && zeros === undefined) void readZeros(result.output_name);
    },
  };
}

/** Adds networks that have started since. */
function offer(select: HTMLSelectElement, networks: readonly string[]): void {
  if (select.options.length === 0) select.append(element("option", { value: ALL }, "Median of all"));
  for (let i = select.options.length - 1; i < networks.length; i += 1) {
    select.append(element("option", { value: i }, textElement(networks[i]!, 40).textContent ?? ""));
  }
}

interface Chosen {
  readonly points: readonly CurvePoint[];
  readonly caption: string;
  readonly best: CurvePoint | undefined;
  /** The validation loss of the zero forecast, if it is known. */
  readonly zero: number | undefined;
}

function chosen(curves: TrainingCurves, value: string, zeros: ZeroLosses = new Map()): Chosen {
  const { networks } = curves;
  const isOne = networks.length === 1;
  if (value === ALL && !isOne) {
    const points = curves.median();
    const which = `Median of ${counted(networks.length, "network")}, for epochs that at least half have reached`;
    const best = lowest(points);
    const known = networks.flatMap((network) => zeros.get(network) ?? []);
    const zero = known.length === networks.length ? (medianOf(known) ?? undefined) : undefined;
    return { points, caption: `${which}. ${bestWords(best)}`, best, zero };
  }
  const name = networks[isOne ? 0 : Number(value)]!;
  const { points, best } = curves.of(name);
  const caption = `${textElement(name, 40).textContent}. ${bestWords(best)}`;
  return { points, caption, best, zero: zeros.get(name) };
}

function lowest(points: readonly CurvePoint[]): CurvePoint | undefined {
  return points.reduce<CurvePoint | undefined>((best, point) => {
    if (point.validation === null) return best;
    return best === undefined || point.validation < best.validation! ? point : best;
  }, undefined);
}

function bestWords(best: CurvePoint | undefined): string {
  if (best === undefined || best.validation === null) return "No finite validation loss yet.";
  return `Best validation loss: ${figure(best.validation, "number")} (epoch ${best.epoch}).`;
}

function drawing({ points, caption, best, zero }: Chosen, leftOut: number, isOpen: boolean): HTMLElement[] {
  const bestEpoch = best?.epoch;
  const rows = points.slice(-MAX_ROWS).reverse();
  return [
    element("figcaption", {}, element("p", {}, caption)),
    element(
      "ul",
      { class: "key" },
      element("li", { class: "validation" }, "validation loss"),
      element("li", { class: "train" }, "training loss"),
      bestEpoch !== undefined && element("li", { class: "best" }, `best epoch, ${bestEpoch}`),
      zero !== undefined &&
        element("li", { class: "zero" }, `validation loss of the zero forecast, ${figure(zero, "number")}`),
      element("li", {}, "x-axis: epoch; y-axis: loss of scaled returns"),
    ),
    lineChart(caption, { best: bestEpoch, level: zero }, [
      { kind: "line", values: points.map(({ epoch, validation }) => ({ x: epoch, y: validation })) },
      { kind: "line second", values: points.map(({ epoch, train }) => ({ x: epoch, y: train })) },
    ]) as unknown as HTMLElement,
    ...(leftOut === 0
      ? []
      : [
          element(
            "p",
            { class: "hint" },
            `${counted(leftOut, "epoch")} are not shown here because they arrived too fast; the report shows all epochs.`,
          ),
        ]),
    element(
      "details",
      { open: isOpen },
      element("summary", {}, "Show numbers"),
      numbersTable({
        name: "Losses by epoch",
        columns: ["Epoch", "Training", "Validation"],
        rows: rows.map(({ epoch, train, validation }) => ({
          header: epoch,
          cells: [figure(train, "number"), figure(validation, "number")],
        })),
      }),
    ),
  ];
}

/** One line of a chart; null is a gap. */
interface Line {
  /** Classes of the style sheet, the same as in a report: validation is solid and training dashed. */
  readonly kind: "line" | "line second";
  readonly values: readonly { readonly x: number; readonly y: number | null }[];
}

/** Pixels; the marks stretch with the page, the text does not. */
const HEIGHT = 220;
const GRID = 1_000;
const TICKS = 4;

/**
 * Lines over whole numbers, such as epochs. Marks lie on a grid that stretches; text is placed beside it in pixels.
 * @param name what the chart shows, in a sentence. @param marked the places of a vertical and of a horizontal mark.
 */
function lineChart(
  name: string,
  { best, level }: { readonly best: number | undefined; readonly level: number | undefined },
  lines: readonly Line[],
): SVGSVGElement {
  const points = lines.flatMap(({ values }) => values);
  const [firstX, lastX] = extentOf(points.map(({ x }) => x));
  const known = [...points.map(({ y }) => y), level];
  const [low, high] = padded(extentOf(known.filter((y) => y !== null && y !== undefined)));
  const across = (x: number) => Math.round((GRID * (x - firstX)) / Math.max(1, lastX - firstX));
  const down = (y: number) => Math.round(GRID * (1 - (y - low) / (high - low)));
  const levels = ticksWithin(low, high);
  const marks = svgElement(
    "svg",
    {
      class: "marks",
      viewBox: `0 0 ${GRID} ${GRID}`,
      preserveAspectRatio: "none",
      width: "100%",
      height: HEIGHT,
    },
    ...levels.map((y) => svgElement("path", { class: "grid", d: `M0 ${down(y)}H${GRID}` })),
    ...(best === undefined ? [] : [svgElement("path", { class: "at", d: `M${across(best)} 0V${GRID}` })]),
    ...(level === undefined ? [] : [svgElement("path", { class: "level", d: `M0 ${down(level)}H${GRID}` })]),
    ...lines.map(({ kind, values }) =>
      svgElement("path", {
        class: kind,
        d: polyline(values.map(({ x, y }): Point | null => (y === null ? null : [across(x), down(y)]))),
      }),
    ),
  );
  const texts = tickTexts(levels);
  const words = [
    ...levels.map((y, i) =>
      svgElement("text", { class: "y", x: -8, y: `${down(y) / 10}%`, dy: "0.32em" }, texts[i]),
    ),
    ...[...new Set([firstX, lastX])].map((x) =>
      svgElement(
        "text",
        { class: x === firstX ? "start" : "end", x: `${across(x) / 10}%`, y: HEIGHT + 18 },
        x,
      ),
    ),
  ];
  return svgElement(
    "svg",
    { class: "chart", role: "img", "aria-label": name, height: HEIGHT },
    marks,
    ...words,
  );
}

function extentOf(values: readonly number[]): readonly [low: number, high: number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? [0, 1] : [low, high];
}

/** With a small margin, so that no line touches the frame; flat lines are in the middle. */
function padded([low, high]: readonly [number, number]): readonly [number, number] {
  const margin = high > low ? 0.04 * (high - low) : Math.max(Math.abs(low) / 2, 0.5);
  return [low - margin, high + margin];
}

/** The labels of ticks, with as many decimals each as the longest one needs. */
export function tickTexts(ticks: readonly number[]): readonly string[] {
  const plain = ticks.map(String);
  if (plain.some((text) => text.includes("e"))) return ticks.map((tick) => tick.toExponential());
  const decimals = Math.max(0, ...plain.map((text) => text.split(".")[1]?.length ?? 0));
  return ticks.map((tick) => tick.toFixed(decimals));
}

/** Multiples of 1, 2 or 5 times a power of ten: the step closest to TICKS steps, by its ratio. */
export function ticksWithin(low: number, high: number): readonly number[] {
  const asked = (high - low) / TICKS;
  const power = Math.floor(Math.log10(asked));
  const ratio = asked / 10 ** power;
  const factor = ratio >= Math.sqrt(50) ? 10 : ratio >= Math.sqrt(10) ? 5 : ratio >= Math.SQRT2 ? 2 : 1;
  const step = factor * 10 ** power;
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}
