import { escapeText } from "../charts/escape-text.ts";
import type { OutputReport, ReportData } from "../data/report-data.ts";
import { REPORT_POLICY, SCRIPT, STYLE } from "./page-policy.ts";
import { type Panel, panelHtml, panelsOf } from "./panel.ts";
import { comparisonHtml } from "./sections/comparison-section.ts";
import { foldsPanels, trainingPanels } from "./sections/folds-section.ts";
import { intervalsPanels } from "./sections/intervals-section.ts";
import { muPanels } from "./sections/mu-section.ts";
import { orderPanels } from "./sections/order-section.ts";
import { originPanels } from "./sections/origin-section.ts";
import { sizesPanels } from "./sections/sizes-section.ts";
import { skillPanels } from "./sections/skill-section.ts";
import { tickersHtml } from "./sections/tickers-section.ts";
import { verdictHtml } from "./sections/verdict-section.ts";

/** A section of charts. With several outputs, charts with the same title are side by side, on one scale. */
interface ChartSection {
  readonly id: string;
  readonly title: string;
  readonly lead?: string;
  /** Its panels have very different heights. */
  readonly isLoose?: boolean;
  readonly panels: (output: OutputReport) => readonly Panel[];
}

const CHART_SECTIONS: readonly ChartSection[] = [
  { id: "forecasts", title: "Forecasts", panels: ({ mu }) => panelsOf("Forecasts", mu, muPanels) },
  {
    id: "skill",
    title: "Skill over time",
    lead: "IC is the correlation of forecasts and returns across the tickers of a date. RankIC is the correlation of their ranks. 0 means no skill.",
    panels: ({ skill }) => panelsOf("Skill over time", skill, skillPanels),
  },
  {
    id: "order",
    title: "Value of the order",
    lead: "Returns in this section are simple returns, by which money grows. This is not a strategy: it trades at the same close that the forecasts are made from.",
    panels: ({ order }) => panelsOf("Order", order, orderPanels),
  },
  { id: "sizes", title: "Sizes", panels: ({ sizes }) => panelsOf("Sizes", sizes, sizesPanels) },
  {
    id: "intervals",
    title: "Intervals",
    panels: ({ intervals }) => panelsOf("Intervals", intervals, intervalsPanels),
  },
  {
    id: "folds",
    title: "Folds and training",
    panels: ({ folds, training }) => [
      ...(folds.data === undefined && training.data !== undefined
        ? []
        : panelsOf("Folds", folds, foldsPanels)),
      ...(training.data === undefined ? [] : trainingPanels(training.data)),
    ],
  },
  {
    id: "origin",
    title: "Warnings, model and provenance",
    isLoose: true,
    panels: ({ origin }) => originPanels(origin),
  },
];

/** The page of a report: one HTML document that makes no requests and is readable without its script. */
export function page({ title, outputs, comparison }: ReportData): string {
  const sections = [
    { id: "verdict", title: "Verdict", html: verdicts(outputs) },
    ...(comparison === undefined
      ? []
      : [{ id: "comparison", title: "Side by side", html: comparisonHtml(comparison) }]),
    ...CHART_SECTIONS.map((section) => ({ ...section, html: chartsHtml(section, outputs) })),
  ];
  sections.splice(-1, 0, { id: "tickers", title: "Tickers", html: tickerTables(outputs) });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${REPORT_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeText(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header><h1>${escapeText(title)}</h1>
<nav aria-label="Sections"><ul>${sections.map(({ id, title: name }) => `<li><a href="#${id}">${name}</a></li>`).join("")}</ul></nav></header>
<main>
${sections.map(({ id, title: name, html }) => `<section aria-labelledby="${id}"><h2 id="${id}">${name}</h2>\n${html}</section>`).join("\n")}
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;
}

function verdicts(outputs: readonly OutputReport[]): string {
  return `<div class="beside">${outputs.map((output) => verdictHtml(output, outputs.length > 1)).join("\n")}</div>`;
}

function chartsHtml({ lead, isLoose, panels }: ChartSection, outputs: readonly OutputReport[]): string {
  const lines = lead === undefined ? "" : `<p>${lead}</p>\n`;
  if (outputs.length === 1) {
    const kind = isLoose ? "panels loose" : "panels alone";
    return `${lines}<div class="${kind}">${panels(outputs[0]!)
      .map((panel) => panelHtml(panel))
      .join("\n")}</div>`;
  }
  const byTitle = Map.groupBy(
    outputs.flatMap((output) => panels(output).map((panel) => ({ panel, name: output.name }))),
    ({ panel }) => panel.title,
  );
  const groups = [...byTitle.values()].map((group) => {
    const within = group.flatMap(({ panel: { chart } }) => (typeof chart === "string" ? [] : chart.extent));
    return `<div class="panels">${group.map(({ panel, name }) => panelHtml(panel, name, within)).join("\n")}</div>`;
  });
  return `${lines}${groups.join("\n")}`;
}

function tickerTables(outputs: readonly OutputReport[]): string {
  return outputs
    .map(({ tickers, name }) => {
      const heading = outputs.length === 1 ? "" : `<h3><bdi>${escapeText(name)}</bdi></h3>`;
      const table =
        tickers.data === undefined ? `<p>${escapeText(tickers.absent)}</p>` : tickersHtml(tickers.data, name);
      return `<div class="table">${heading}${table}</div>`;
    })
    .join("\n");
}
