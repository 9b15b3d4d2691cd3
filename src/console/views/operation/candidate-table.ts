import type { ForecastView } from "../../../client/index.ts";
import { figure, type Unit } from "../../../view/figures.ts";
import { element } from "../../dom.ts";
import { counted, textElement } from "../../words.ts";

type Choice = NonNullable<ForecastView["choice"]>;
type Candidate = Choice["candidates"][number];

/** The figure that a choice compares, its unit, and its name. */
const R2_FIGURE = ["r2", "r2", "an R² of"] as const;
const IC_FIGURE = ["ic", "ic", "a mean IC of"] as const;

/** The candidates of a choice, and what choosing among them was worth. */
export function candidateTable({ candidates, count, honest, best, measure }: Choice): HTMLElement[] {
  const [key, unit, name] = measure === "ic" ? IC_FIGURE : R2_FIGURE;
  const columns = columnsOf(measure).filter(
    ({ isSpare, value }) => !isSpare || new Set(candidates.map(value)).size > 1,
  );
  const claimed = candidates.find(({ number }) => number === best)?.[key];
  const words = `Chosen among ${counted(count, "candidate")}. Candidate ${best}, the best in hindsight, has ${name} ${figure(claimed, unit)} on its held-out rows, the forecasts chosen in advance ${figure(honest[key], unit)}. Gains are over candidate 0${measure === "ic" ? "" : ", in units of the mean squared return of the first training rows"}.${count > candidates.length ? ` The table shows the ${candidates.length} with the largest gains.` : ""}`;
  return [
    element("h3", {}, "Candidates"),
    element("p", {}, words),
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Candidates" },
      element(
        "table",
        { class: "numbers cards" },
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            ...["Candidate", ...columns.map(({ title }) => title)].map((title) =>
              element("th", { scope: "col" }, title),
            ),
          ),
        ),
        element("tbody", {}, ...candidates.map((candidate) => rowOf(candidate, columns))),
      ),
    ),
  ];
}

interface Column {
  readonly title: string;
  readonly unit: Unit;
  readonly value: (candidate: Candidate) => number | null | undefined;
  /** Whether the column is left out if all its values are the same. */
  readonly isSpare?: true;
}

function columnsOf(measure: Choice["measure"]): readonly Column[] {
  return [
    { title: "R², held out", unit: "r2", value: ({ r2 }) => r2 },
    { title: "IC, held out", unit: "ic", value: ({ ic }) => ic ?? null, isSpare: true },
    { title: "Gain", unit: measure === "ic" ? "ic" : "r2", value: ({ gain }) => gain },
    { title: "t of the gain", unit: "t", value: ({ gain_t }) => gain_t },
    { title: "Tickers", unit: "count", value: ({ tickers }) => tickers, isSpare: true },
  ];
}

function rowOf(candidate: Candidate, columns: readonly Column[]): HTMLElement {
  const { number, label, member } = candidate;
  return element(
    "tr",
    {},
    element(
      "th",
      { scope: "row" },
      `${number} `,
      textElement(label, 80),
      member && element("span", { class: "detail" }, " member"),
    ),
    ...columns.map(({ title, unit, value }) =>
      element("td", { "data-title": title }, figure(value(candidate), unit)),
    ),
  );
}
