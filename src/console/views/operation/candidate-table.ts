import type { ForecastView } from "../../../client/index.ts";
import { figure } from "../../../report/figures.ts";
import { element } from "../../dom.ts";
import { counted, textElement } from "../../words.ts";

type Choice = NonNullable<ForecastView["choice"]>;

const HEAD = [
  "Candidate",
  "R², held out",
  "IC, held out",
  "Gain over candidate 0",
  "its t",
  "Tickers",
  "Member",
];

/** The figure that a choice compares, its unit, and its name. */
const R2_FIGURE = ["r2", "r2", "an R² of"] as const;
const IC_FIGURE = ["ic", "ic", "a mean IC of"] as const;

/** The candidates of a choice, and what choosing among them was worth. */
export function candidateTable({ candidates, count, honest, best, measure }: Choice): HTMLElement[] {
  const [key, unit, name] = measure === "ic" ? IC_FIGURE : R2_FIGURE;
  const claimed = candidates.find(({ number }) => number === best)?.[key];
  const words = `Chosen among ${counted(count, "candidate")}. Candidate ${best}, the best afterwards, has ${name} ${figure(claimed, unit)} on its held-out rows, the forecasts chosen in advance ${figure(honest[key], unit)}.${count > candidates.length ? ` The table shows the ${candidates.length} with the largest gains.` : ""}`;
  return [
    element("h3", {}, "Candidates"),
    element("p", {}, words),
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Candidates" },
      element(
        "table",
        { class: "numbers" },
        element("thead", {}, element("tr", {}, ...HEAD.map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, ...candidates.map((candidate) => rowOf(candidate, measure))),
      ),
    ),
  ];
}

function rowOf(
  { number, label, r2, ic, gain, gain_t, tickers, member }: Choice["candidates"][number],
  measure: Choice["measure"],
): HTMLElement {
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, `${number} `, textElement(label, 80)),
    element("td", {}, figure(r2, "r2")),
    element("td", {}, figure(ic, "ic")),
    element("td", {}, figure(gain, measure === "ic" ? "number" : "percent")),
    element("td", {}, figure(gain_t, "number")),
    element("td", {}, figure(tickers, "count")),
    element("td", {}, member ? "yes" : "\u2013"),
  );
}
