import { escapeText } from "./charts/plot.ts";
import type { Report, ReportedOutput } from "./evidence/reported-outputs.ts";
import { REPORT_POLICY, SCRIPT, STYLE } from "./page-policy.ts";
import { hasReturns, type Section } from "./panels/section.ts";
import { candidatesSection } from "./sections/candidates.ts";
import { comparisonSection } from "./sections/comparison.ts";
import { foldsSection } from "./sections/folds.ts";
import { forecastsSection } from "./sections/forecasts.ts";
import { documentTitle, identityHtml } from "./sections/identity.ts";
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

/** Which measure of order the page shows: at first the one that the verdict is on. It needs no script: the style sheet hides the panels of the other. */
const MEASURES = `<fieldset class="switch"><legend class="unseen">Measure of order</legend><label><input type="radio" name="measure" id="show-rank">RankIC</label><label><input type="radio" name="measure" id="show-ic" checked>IC</label></fieldset>`;

/** Which rows it shows, for an output that has both: at first those of the verdict. */
function rowsSwitch({ common }: ReportedOutput): string {
  const [score, folds] = common.verdict?.rows === "out_of_fold" ? ["", " checked"] : [" checked", ""];
  return `<fieldset class="switch"><legend class="unseen">Rows</legend><label><input type="radio" name="rows" id="show-score"${score}>Score rows</label><label><input type="radio" name="rows" id="show-folds"${folds}>Out of fold</label></fieldset>`;
}

/** The page of a report: one HTML document that makes no requests and is readable without its script. */
export function page(report: Report): string {
  const title = escapeText(report.title);
  const switches = [
    ...report.outputs.filter(({ outOfFold }) => outOfFold !== undefined).map(rowsSwitch),
    ...(hasReturns(report) ? [MEASURES] : []),
  ].join("");
  const sections = SECTIONS.flatMap((section) => {
    const html = section.html(report);
    return html === undefined ? [] : [{ ...section, html }];
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${REPORT_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeText(documentTitle(report))}</title>
<style>${STYLE}</style>
</head>
<body>
<header><h1>${title}</h1>
${identityHtml(report)}</header>
<div class="toolbar"><nav aria-label="Sections"><ul>${sections.map(({ id, title: name, short = name }) => `<li><a href="#${id}">${short}</a></li>`).join("")}</ul></nav>${switches === "" ? "" : `<div class="switches" role="region" aria-label="What the charts show">${switches}</div>`}</div>
<main>
${sections.map(({ id, title: name, html }) => `<section aria-labelledby="${id}"><h2 id="${id}">${name}</h2>\n${html}</section>`).join("\n")}
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;
}
