import { escapeText } from "../../charts/escape-text.ts";
import { rowChart } from "../../charts/row-chart.ts";
import { figure } from "../../data/figures.ts";
import type { CheckVerdict, NamedText, Origin } from "../../data/report-data.ts";
import { numbersTable, plainTable } from "../numbers-table.ts";
import { keyLine, type Panel, panelsOf } from "../panel.ts";

/** The origin of the numbers, and the warnings and failures of the job. */
export function originPanels(origin: Origin): Panel[] {
  return [
    ...checkPanel("Replay", origin.replay),
    ...checkPanel("Audit", origin.audit),
    warningsPanel(origin),
    failuresPanel(origin),
    ...panelsOf("Importances", origin.importances, (importances) => [importancesPanel(importances)]),
    textsPanel("Model", "The configuration with all defaults filled in.", origin.model),
    textsPanel("Provenance", "The inputs of the job and the machine that it ran on.", origin.provenance),
  ];
}

function importancesPanel({ features, finding }: NonNullable<Origin["importances"]["data"]>): Panel {
  const hasSpreads = features.some(({ spread }) => spread !== undefined);
  return {
    title: "Importances",
    finding,
    chart: rowChart({
      finding,
      unit: "share",
      rows: features.map(({ feature, share, spread }) => ({
        name: feature,
        value: share,
        ...(spread === undefined ? {} : { low: Math.max(0, share - spread), high: share + spread }),
      })),
    }),
    ...(hasSpreads
      ? {
          key: keyLine([
            ["dot", "share of the last fit"],
            ["interval", "one standard deviation over the fits either way"],
          ]),
        }
      : {}),
    numbers: numbersTable({
      caption: "importances",
      columns: ["Feature", "Mean share", ...(hasSpreads ? ["Deviation over fits"] : []), "Models"],
      rows: features.map(({ feature, share, spread, tickers }) => [
        feature,
        figure(share, "share"),
        ...(hasSpreads ? [figure(spread, "share")] : []),
        figure(tickers, "count"),
      ]),
    }),
  };
}

function checkPanel(title: string, verdict: CheckVerdict | undefined): Panel[] {
  if (verdict === undefined) return [];
  const lines = verdict.lines.map((line) => `<li>${escapeText(line)}</li>`).join("");
  const badge = `<p class="badge ${verdict.isGood ? "some" : "none"}">${escapeText(verdict.verdict)}</p>`;
  return [{ title, finding: verdict.sentence, chart: `${badge}${lines === "" ? "" : `<ul>${lines}</ul>`}` }];
}

/** More rows are not readable; the output has them all. */
const MAX_LINES = 60;

function warningsPanel({ warnings }: Origin): Panel {
  const rows = warnings.slice(0, MAX_LINES).map(({ code, ticker, message, cure }) => {
    const whose = ticker === undefined ? "" : ` <bdi>${escapeText(ticker)}</bdi>:`;
    return `<li><code>${escapeText(code)}</code>${whose} ${escapeText(message)}${cure === undefined ? "" : `<br><span class="faint">${escapeText(cure)}</span>`}</li>`;
  });
  return linesPanel("Warnings", warnings.length, rows);
}

function failuresPanel({ failures }: Origin): Panel {
  const rows = failures
    .slice(0, MAX_LINES)
    .map(
      ({ ticker, code, message }) =>
        `<li><bdi>${escapeText(ticker)}</bdi>: <code>${escapeText(code)}</code> ${escapeText(message)}</li>`,
    );
  return linesPanel("Failures", failures.length, rows);
}

function linesPanel(title: string, count: number, lines: readonly string[]): Panel {
  const name = title.toLowerCase();
  if (count === 0) return { title, finding: `The job has no ${name}.`, chart: "" };
  const cut =
    count > lines.length ? ` The first ${lines.length} are listed; the output lists all of them.` : "";
  const finding = `The job has ${figure(count, "count")} ${count === 1 ? name.slice(0, -1) : name}.${cut}`;
  return { title, finding, chart: `<ul class="lines">${lines.join("\n")}</ul>` };
}

function textsPanel(title: string, finding: string, texts: readonly NamedText[]): Panel {
  const rows = texts.map(({ name, text }) => [name, text]);
  return {
    title,
    finding,
    chart: `<details class="texts"><summary>${title}: ${texts.length} entries</summary>${plainTable({ caption: title, columns: ["Name", "Value"], rows })}</details>`,
  };
}
