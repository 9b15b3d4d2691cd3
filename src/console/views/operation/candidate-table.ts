import type { ForecastView } from "../../../client/index.ts";
import { figure } from "../../../report/figures.ts";
import { element } from "../../dom.ts";
import { counted, textElement } from "../../words.ts";

type Choice = NonNullable<ForecastView["choice"]>;

const HEAD = ["Candidate", "R², held out", "Gain over candidate 0", "its t", "Tickers", "Member"];

/** The candidates of a choice, and what choosing among them was worth. */
export function candidateTable({ candidates, count, honest, best }: Choice): HTMLElement[] {
  const claimed = candidates.find(({ number }) => number === best)?.r2;
  const words = `Chosen among ${counted(count, "candidate")}. Candidate ${best}, the best afterwards, has an R² of ${figure(claimed, "percent")} on its held-out rows, the forecasts chosen in advance ${figure(honest.r2, "percent")}.${count > candidates.length ? ` The table shows the ${candidates.length} with the largest gains.` : ""}`;
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
        element("tbody", {}, ...candidates.map(rowOf)),
      ),
    ),
  ];
}

function rowOf({
  number,
  label,
  r2,
  gain,
  gain_t,
  tickers,
  member,
}: Choice["candidates"][number]): HTMLElement {
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, `${number} `, textElement(label, 80)),
    element("td", {}, figure(r2, "percent")),
    element("td", {}, figure(gain, "percent")),
    element("td", {}, figure(gain_t, "number")),
    element("td", {}, figure(tickers, "count")),
    element("td", {}, member ? "yes" : "\u2013"),
  );
}
