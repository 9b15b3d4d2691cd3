import type { VNode } from "preact";
import { renderToString } from "preact-render-to-string";
import { escapeHtml, visibleText } from "../contract/visible-text.ts";
import { html } from "../view/html.ts";
import { bdi } from "../view/text.ts";
import type { Report, ReportedOutput } from "./evidence/reported-outputs.ts";
import { REPORT_POLICY, SCRIPT, STYLE } from "./page-policy.ts";
import { hasReturns, type Section } from "./section.ts";
import { candidatesSection } from "./sections/candidates.ts";
import { comparisonSection } from "./sections/comparison.ts";
import { foldsSection } from "./sections/folds.ts";
import { forecastsSection } from "./sections/forecasts.ts";
import { documentTitle, identities } from "./sections/identity.ts";
import { intervalsSection } from "./sections/intervals.ts";
import { orderSection } from "./sections/order-worth.ts";
import { originSection } from "./sections/origin.ts";
import { sizesSection } from "./sections/sizes.ts";
import { skillSection } from "./sections/skill-over-time.ts";
import { tickersSection } from "./sections/tickers.ts";
import { verdictSection } from "./sections/verdict.ts";

/** The sections of a report, in the order of the page. Only a report on several outputs has a comparison. */
export const SECTIONS: readonly Section[] = [
  comparisonSection,
  verdictSection,
  forecastsSection,
  skillSection,
  orderSection,
  sizesSection,
  intervalsSection,
  candidatesSection,
  foldsSection,
  tickersSection,
  originSection,
];

/** A switch that needs no script: the style sheet hides what is not chosen. */
function radios(
  name: string,
  legend: string,
  choices: readonly [id: string, words: string, checked: boolean][],
) {
  return html`<fieldset class="switch"><legend class="unseen">${legend}</legend>${choices.map(
    ([id, words, checked]) =>
      html`<label><input type="radio" name=${name} id=${id} checked=${checked} />${words}</label>`,
  )}</fieldset>`;
}

/** Which rows the page shows, for an output that has both, and which measure of order: at first those of the verdict. */
function switchesOf(report: Report): readonly VNode[] {
  const rows = report.outputs
    .filter(({ outOfFold }) => outOfFold !== undefined)
    .map(({ common }: ReportedOutput) => {
      const isOfFolds = common.verdict?.rows === "out_of_fold";
      return radios("rows", "Rows", [
        ["show-score", "Score rows", !isOfFolds],
        ["show-folds", "Out of fold", isOfFolds],
      ]);
    });
  const measures = radios("measure", "Measure of order", [
    ["show-rank", "RankIC", false],
    ["show-ic", "IC", true],
  ]);
  return hasReturns(report) ? [...rows, measures] : rows;
}

/** The page of a report: one HTML document that makes no requests and is readable without its script. */
export function page(report: Report): string {
  const switches = switchesOf(report);
  const sections = SECTIONS.map((section) => ({ ...section, content: section.render(report) })).filter(
    ({ content }) => content !== undefined && content !== false,
  );
  const body = html`<header><h1>${bdi(report.title)}</h1>${identities(report)}</header>
    <div class="toolbar">
      <nav aria-label="Sections"><ul>${sections.map(
        ({ id, title, short = title }) => html`<li><a href=${`#${id}`}>${short}</a></li>`,
      )}</ul></nav>
      ${switches.length > 0 && html`<div class="switches" role="region" aria-label="What the charts show">${switches}</div>`}
    </div>
    <main>${sections.map(
      ({ id, title, content }) =>
        html`<section aria-labelledby=${id}><h2 id=${id}>${title}</h2>${content}</section>`,
    )}</main>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${REPORT_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(visibleText(documentTitle(report)))}</title>
<style>${STYLE}</style>
</head>
<body>
${renderToString(html`<div>${body}</div>`)}
<script>${SCRIPT}</script>
</body>
</html>
`;
}
