import { figure } from "../../../report/figures.ts";
import { element, fill } from "../../dom.ts";
import { shown } from "../../shown-text.ts";
import { counted } from "../../words.ts";
import { lineChart } from "./line-chart.ts";
import type { Followed, Panel } from "./panel.ts";
import type { CurvePoint, TrainingCurves } from "./training-curves.ts";

/** Maximum number of rows of the table below the chart, the newest epochs. */
const MAX_ROWS = 60;
/** The value that selects all networks; a single network is selected by its position. */
const ALL = "all";

/** The losses of the networks while they train: the median of all, or one network. */
export function trainingPanel(): Panel {
  const select = element("select", {});
  const choice = element("label", {}, "Network ", select);
  const figureElement = element("figure");
  const section = element("section", { hidden: true }, element("h2", {}, "Training"), choice, figureElement);
  let followed: Followed | undefined;
  let drawn = "";
  const draw = (): void => {
    const curves = followed!.curves;
    offer(select, curves.networks);
    choice.hidden = curves.networks.length < 2;
    const { points, said } = chosen(curves, select.value);
    const text = JSON.stringify([said, points]);
    if (text === drawn) return;
    drawn = text;
    // A table that the reader has opened stays open.
    const isOpen = figureElement.querySelector("details")?.open ?? false;
    fill(figureElement, ...drawing(points, said, curves.leftOut, isOpen));
  };
  select.addEventListener("change", draw);
  return {
    element: section,
    show: (now) => {
      followed = now;
      section.hidden = now.curves.networks.length === 0;
      if (!section.hidden) draw();
    },
  };
}

/** Adds networks that have started since. */
function offer(select: HTMLSelectElement, networks: readonly string[]): void {
  if (select.options.length === 0) select.append(element("option", { value: ALL }, "Median of all"));
  for (let i = select.options.length - 1; i < networks.length; i += 1) {
    select.append(element("option", { value: i }, shown(networks[i]!, 40).textContent ?? ""));
  }
}

function chosen(
  curves: TrainingCurves,
  value: string,
): { readonly points: readonly CurvePoint[]; readonly said: string } {
  const { networks } = curves;
  const isOne = networks.length === 1;
  if (value === ALL && !isOne) {
    const points = curves.median();
    const which = `Median of ${counted(networks.length, "network")}, for epochs that at least half have reached`;
    return { points, said: `${which}. ${bestWords(lowest(points))}` };
  }
  const name = networks[isOne ? 0 : Number(value)]!;
  const { points, best } = curves.of(name);
  return { points, said: `${shown(name, 40).textContent}. ${bestWords(best)}` };
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

function drawing(
  points: readonly CurvePoint[],
  said: string,
  leftOut: number,
  isOpen: boolean,
): HTMLElement[] {
  const rows = points.slice(-MAX_ROWS).reverse();
  return [
    element("figcaption", {}, element("p", {}, said)),
    element(
      "ul",
      { class: "key" },
      element("li", { class: "first" }, "training loss"),
      element("li", { class: "second" }, "validation loss"),
      element("li", {}, "x-axis: epoch; y-axis: loss of scaled returns"),
    ),
    lineChart(said, [
      { kind: "first", values: points.map(({ epoch, train }) => ({ x: epoch, y: train })) },
      { kind: "second", values: points.map(({ epoch, validation }) => ({ x: epoch, y: validation })) },
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
      element(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Losses by epoch" },
        element(
          "table",
          { class: "numbers" },
          element(
            "thead",
            {},
            element(
              "tr",
              {},
              ...["Epoch", "Training", "Validation"].map((words) => element("th", { scope: "col" }, words)),
            ),
          ),
          element(
            "tbody",
            {},
            ...rows.map(({ epoch, train, validation }) =>
              element(
                "tr",
                {},
                element("th", { scope: "row" }, epoch),
                element("td", {}, figure(train, "number")),
                element("td", {}, figure(validation, "number")),
              ),
            ),
          ),
        ),
      ),
    ),
  ];
}
