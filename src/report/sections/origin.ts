import type { VNode } from "preact";
import { rawNumbersOf } from "../../contract/json/json-text.ts";
import { warningEntry } from "../../contract/problems/warnings.ts";
import { visibleLines } from "../../contract/visible-text.ts";
import type { OutputSummary } from "../../outputs/output-summary.ts";
import { figure } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { table } from "../../view/table.ts";
import { bdi, sentence } from "../../view/text.ts";
import type { CheckVerdict } from "../evidence/check-verdicts.ts";
import { panelSection, type ReportPanel } from "../section.ts";
import { importancePanels, lossPanels } from "./features.ts";

export const originSection = panelSection({
  id: "origin",
  title: "Warnings, model and provenance",
  short: "Provenance",
  panels: ({ whole: { document }, replay, audit }) => [
    ...checkPanels("Replay", replay),
    ...checkPanels("Audit", audit),
    ...problemPanels(document),
    ...lossPanels(document.permutation_importance),
    ...importancePanels(document),
    configPanel(document),
  ],
});

function checkPanels(title: string, check: CheckVerdict | undefined): ReportPanel[] {
  if (check === undefined) return [];
  const { verdict, isGood, lines } = check;
  const body = html`<p class=${`badge ${isGood ? "some" : "none"}`}>${verdict}</p>
    ${lines.length > 0 && html`<ul>${lines.map((line) => html`<li>${bdi(line)}</li>`)}</ul>`}`;
  return [{ title, sentence: check.sentence, body }];
}

/** More rows are not readable; the output has them all. */
const MAX_LINES = 60;

/** The warnings and the failures; one panel says so if there are none of one kind. */
function problemPanels({ warnings, failures }: OutputSummary): ReportPanel[] {
  const warned = warnings
    .map(({ code, ticker, message }) => ({ code, ticker, message, ...warningEntry(code) }))
    .filter(({ isNote }) => !isNote);
  const lineOf = (line: {
    code: string;
    ticker?: string | undefined;
    message: string;
    cure?: string | undefined;
  }) =>
    html`<li>
      <code>${bdi(line.code)}</code>${line.ticker !== undefined && html` ${bdi(line.ticker)}:`} ${sentence(line.message)}
      ${line.cure !== undefined && html`<br /><span class="faint">${line.cure}</span>`}
    </li>`;
  const panelOf = (title: string, lines: Parameters<typeof lineOf>[0][], end: string): ReportPanel => {
    const { length } = lines;
    const name = length === 1 ? title.toLowerCase().slice(0, -1) : title.toLowerCase();
    const cut = length > MAX_LINES ? ` The first ${MAX_LINES} are listed; the output lists all of them.` : "";
    return {
      title,
      sentence: `The job has ${length === 0 ? "no" : figure(length, "count")} ${name}.${cut}${end}`,
      body: length > 0 && html`<ul class="lines">${lines.slice(0, MAX_LINES).map(lineOf)}</ul>`,
    };
  };
  if (failures.length === 0) return [panelOf("Warnings", warned, " It has no failures.")];
  if (warned.length === 0) return [panelOf("Failures", [...failures], " It has no warnings.")];
  return [panelOf("Warnings", warned, ""), panelOf("Failures", [...failures], "")];
}

/** The config as it was written; on demand with all defaults, and the inputs and the machine of the job. */
function configPanel({
  provenance: { config, ...provenance },
  model,
  machine,
  tags,
}: OutputSummary): ReportPanel {
  const written =
    config == null ? "The output does not have the text of its config." : "The config as it was written.";
  return {
    title: "Config and provenance",
    sentence: `${written} The model has all defaults filled in.`,
    body: html`${
      config != null &&
      html`<pre class="config" tabindex="0" role="group" aria-label="Config"><code>${visibleLines(configText(config))}</code></pre>`
    }
    ${leavesTable("Model", model)}${leavesTable("Provenance", { ...provenance, machine, tags })}`,
  };
}

/** Beyond this many characters, one line of JSON is hard to read. */
const MAX_LINE = 80;

/** A config with line breaks, or of one short line, as it was written; another with line breaks, its numbers as they were written. */
export function configText(text: string): string {
  if (text.includes("\n") || text.length <= MAX_LINE) return text;
  try {
    return JSON.stringify(rawNumbersOf(text), null, 2);
  } catch {
    return text;
  }
}

/** The config of a job is a few levels deep; deeper or later members do not come from a job of mucast. */
const MAX_DEPTH = 6;
const MAX_NAMES = 300;

function leavesTable(title: string, part: object): VNode {
  const rows = [...leavesOf(part)].slice(0, MAX_NAMES);
  return html`<details class="texts">
    <summary>${title}: ${rows.length} entries</summary>
    ${table({
      name: title,
      rows,
      columns: [
        ["Name", "text", ([name]) => name],
        ["Value", "text", ([, text]) => text],
      ],
    })}
  </details>`;
}

/** The leaves of a plain object as text, with names such as `blas.numpy.name`. */
function* leavesOf(part: object, before = "", depth = 0): Generator<readonly [name: string, text: string]> {
  for (const [name, value] of Object.entries(part)) {
    const path = `${before}${name}`;
    const members = typeof value === "object" && value !== null ? Object.values(value) : [];
    const isPlainList = Array.isArray(value) && members.every((item) => typeof item !== "object");
    if (members.length > 0 && !isPlainList) {
      if (depth < MAX_DEPTH) yield* leavesOf(value, `${path}.`, depth + 1);
    } else if (value !== undefined) yield [path, typeof value === "string" ? value : JSON.stringify(value)];
  }
}
