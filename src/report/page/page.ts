import { figure } from "../data/figures.ts";
import type { OutputReport, Part, ReportData } from "../data/report-data.ts";

/** The page of a report: one HTML document that asks for nothing else. */
export function page({ title, outputs }: ReportData): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
</head>
<body>
${outputs.map(section).join("\n")}
</body>
</html>
`;
}

function section({ name, verdict, mu, tickers }: OutputReport): string {
  return `<section>
<h1>${escaped(name)}</h1>
${verdict.sentences.map((sentence) => `<p>${escaped(sentence)}</p>`).join("\n")}
<ul>
${verdict.tiles.map(({ finding }) => `<li>${escaped(finding)}</li>`).join("\n")}
</ul>
${part("Forecasts", mu, ({ finding, bars }) => {
  const rows = bars.map(
    (bar) => `<tr><th>${escaped(bar.ticker)}</th><td>${figure(bar.mu, "return")}</td></tr>`,
  );
  return `<p>${escaped(finding)}</p>\n<table>\n${rows.join("\n")}\n</table>`;
})}
${part("Tickers", tickers, ({ finding, rows }) => {
  const cells = rows.map((row) => `<tr><th>${escaped(row.ticker)}</th><td>${escaped(row.finding)}</td></tr>`);
  return `<p>${escaped(finding)}</p>\n<table>\n${cells.join("\n")}\n</table>`;
})}
</section>`;
}

function part<T>(name: string, { data, absent }: Part<T>, shown: (data: T) => string): string {
  return `<h2>${name}</h2>\n${data === undefined ? `<p>${escaped(absent!)}</p>` : shown(data)}`;
}

const MARKS: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (mark) => MARKS[mark]!);
}
