import type { OutputImportance } from "../../contract/output/metrics-schemas.ts";
import { warningEntry } from "../../contract/problems/warnings.ts";
import { escapeHtml, visibleLines } from "../../contract/visible-text.ts";
import { mean } from "../../evaluate/statistics.ts";
import type { OutputSummary } from "../../outputs/output-summary.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { escapeText } from "../charts/plot.ts";
import { rowChart } from "../charts/row-chart.ts";
import type { CheckVerdict } from "../evidence/check-verdicts.ts";
import type { ReportedOutput } from "../evidence/reported-outputs.ts";
import { keyLine, numbersTable, type Panel, plainTable } from "../panels/panel.ts";
import { chartSection, type Part } from "../panels/section.ts";
import { configText } from "./config-text.ts";
import { featureLossPanels } from "./feature-losses.ts";

/** The origin of the numbers, and the warnings and failures of the job. */
export const originSection = chartSection({
  id: "origin",
  title: "Warnings, model and provenance",
  short: "Provenance",
  panels: (output) => originPanels(originOf(output)),
});

/** The origin of the numbers. */
interface Origin {
  readonly warnings: readonly {
    readonly code: string;
    readonly ticker: string | undefined;
    readonly message: string;
    /** What the reader can do, if this version knows the code. */
    readonly cure?: string | undefined;
  }[];
  readonly failures: readonly {
    readonly ticker: string;
    readonly code: string;
    readonly message: string;
  }[];
  /** The text of the job's section of the config, untrusted; undefined if the output does not have it. */
  readonly config: string | undefined;
  /** Names with values as text, in the order of the blob. */
  readonly provenance: readonly NamedText[];
  readonly model: readonly NamedText[];
  /** In units of the model's library, sorted by the mean over tickers of the absolute share, the largest first; at most 30. */
  readonly importances: Part<{
    readonly features: readonly {
      readonly feature: string;
      readonly share: number;
      readonly tickers: number;
      /** With refits: the mean over models of the standard deviation over their fits, as a share of the importances of the last. */
      readonly spread?: number;
    }[];
    readonly finding: string;
  }>;
  readonly losses: OutputImportance | undefined;
  readonly replay: CheckVerdict | undefined;
  readonly audit: CheckVerdict | undefined;
}

interface NamedText {
  readonly name: string;
  readonly text: string;
}

export function originOf({ whole: { document }, replay, audit }: ReportedOutput): Origin {
  const { config, ...provenance } = document.provenance;
  return {
    config: config ?? undefined,
    warnings: document.warnings
      .map(({ code, ticker, message }) => ({ code, ticker, message, ...warningEntry(code) }))
      .filter(({ isNote }) => !isNote),
    failures: document.failures,
    provenance: named({ ...provenance, machine: document.machine, tags: document.tags }),
    model: named(document.model),
    importances: importancesOf(document),
    losses: document.permutation_importance,
    replay,
    audit,
  };
}

/** The config of a job is a few levels deep; deeper or later members do not come from a job of mucast. */
const MAX_DEPTH = 6;
const MAX_NAMES = 300;

/** The leaves of a plain object, with names such as `blas.numpy.name`. */
function named(part: object): NamedText[] {
  const found: NamedText[] = [];
  collect(part, "", 0, found);
  return found;
}

function collect(part: object, before: string, depth: number, found: NamedText[]): void {
  for (const [name, value] of Object.entries(part)) {
    if (found.length === MAX_NAMES) return;
    const path = `${before}${name}`;
    if (typeof value === "object" && value !== null && !isLeaf(value)) {
      if (depth < MAX_DEPTH) collect(value, `${path}.`, depth + 1, found);
    } else if (value !== undefined) {
      found.push({ name: path, text: typeof value === "string" ? value : JSON.stringify(value) });
    }
  }
}

/** Whether it is an object without members, or a list of plain values. */
function isLeaf(value: object): boolean {
  const members = Object.values(value);
  return members.length === 0 || (Array.isArray(value) && members.every((item) => typeof item !== "object"));
}

const MAX_FEATURES = 30;
/** The table has the others. */
const MAX_FEATURE_BARS = 15;

type Listed = readonly {
  readonly feature: string;
  readonly importance: number;
  readonly spread?: number | undefined;
}[];

/** Over the models that list a feature. */
interface FeatureUse {
  readonly shares: number[];
  /** Over the fits of a model, as a share of its importances; for models that have it. */
  readonly spreads: number[];
}

/**
 * What the models used: for each ticker, the shares of the absolute importances that the output lists, and their mean over the
 * tickers that have importances. A pooled fit has one list. Importances do not say what was useful. With refits, they
 * are those of the last fits.
 */
export function importancesOf(
  document: Pick<OutputSummary, "fits" | "pooled" | "refits">,
): Origin["importances"] {
  const uses = new Map<string, FeatureUse>();
  let counted = 0;
  for (const importances of listedBy(document)) {
    const total = importances.reduce((sum, { importance }) => sum + Math.abs(importance), 0);
    if (!(total > 0 && Number.isFinite(total))) continue;
    counted++;
    for (const { feature, importance, spread } of importances) {
      if (importance === 0) continue;
      const use = uses.get(feature) ?? { shares: [], spreads: [] };
      uses.set(feature, use);
      use.shares.push(Math.abs(importance) / total);
      if (spread !== undefined) use.spreads.push(spread / total);
    }
  }
  if (counted === 0) return { absent: "The output lists no importances; not every library reports them." };
  const features = [...uses]
    .map(([feature, { shares, spreads }]) => ({
      feature,
      share: shares.reduce((sum, share) => sum + share, 0) / counted,
      tickers: shares.length,
      ...(spreads.length === 0 ? {} : { spread: mean(Float64Array.from(spreads)) }),
    }))
    .sort((a, b) => b.share - a.share)
    .slice(0, MAX_FEATURES);
  return { data: { features, finding: findingOf(features[0]!, counted, document) } };
}

/** The importances of each model. */
function listedBy({ fits = {}, pooled, refits }: Parameters<typeof importancesOf>[0]): Listed[] {
  const last = refits === undefined ? [] : [refits, ...Object.values(refits.by_ticker)];
  const models = pooled === undefined ? Object.values(fits) : [pooled];
  const refitted = last.flatMap(({ importances }) => importances ?? []);
  return (refitted.length > 0 ? last : models).map(({ importances = [] }) => importances);
}

function findingOf(
  first: { readonly feature: string; readonly share: number },
  counted: number,
  { pooled, refits }: Parameters<typeof importancesOf>[0],
): string {
  const share = `${first.feature} most, with ${figure(first.share, "share")} of the importance`;
  const isRefitted = refits !== undefined && refits.blocks.length > 1;
  const used =
    pooled === undefined
      ? `The ${isRefitted ? "last " : ""}models used ${share}, the mean of ${countedRows(counted, "ticker")}`
      : `The ${isRefitted ? "last " : ""}pooled model used ${share}`;
  return `${used}. This shows what the models used, not what was useful.`;
}

function originPanels(origin: Origin): Panel[] {
  return [
    ...checkPanel("Replay", origin.replay),
    ...checkPanel("Audit", origin.audit),
    ...problemPanels(origin),
    ...featureLossPanels(origin.losses),
    ...(origin.importances.data === undefined ? [] : [importancesPanel(origin.importances.data)]),
    configPanel(origin),
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
      rows: features.slice(0, MAX_FEATURE_BARS).map(({ feature, share, spread }) => ({
        name: feature,
        value: share,
        ...(spread === undefined ? {} : { low: Math.max(0, share - spread), high: share + spread }),
      })),
    }),
    ...(hasSpreads
      ? {
          key: keyLine([
            ["dot", "share of the last fit"],
            ["interval", "± one standard deviation over the fits"],
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

/** The warnings and the failures; one panel says so if there are none of one kind. */
function problemPanels({ warnings, failures }: Origin): Panel[] {
  const warned = linesPanel("Warnings", warnings.length, warnings.slice(0, MAX_LINES).map(warningHtml));
  const failed = linesPanel("Failures", failures.length, failures.slice(0, MAX_LINES).map(failureHtml));
  if (failures.length === 0) return [{ ...warned, finding: `${warned.finding} It has no failures.` }];
  if (warnings.length === 0) return [{ ...failed, finding: `${failed.finding} It has no warnings.` }];
  return [warned, failed];
}

function warningHtml({ code, ticker, message, cure }: Origin["warnings"][number]): string {
  const whose = ticker === undefined ? "" : ` <bdi>${escapeText(ticker)}</bdi>:`;
  return `<li><code>${escapeText(code)}</code>${whose} ${escapeText(message)}${cure === undefined ? "" : `<br><span class="faint">${escapeText(cure)}</span>`}</li>`;
}

function failureHtml({ ticker, code, message }: Origin["failures"][number]): string {
  return `<li><bdi>${escapeText(ticker)}</bdi>: <code>${escapeText(code)}</code> ${escapeText(message)}</li>`;
}

function linesPanel(title: string, count: number, lines: readonly string[]): Panel {
  const name = title.toLowerCase();
  if (count === 0) return { title, finding: `The job has no ${name}.`, chart: "" };
  const cut =
    count > lines.length ? ` The first ${lines.length} are listed; the output lists all of them.` : "";
  const finding = `The job has ${figure(count, "count")} ${count === 1 ? name.slice(0, -1) : name}.${cut}`;
  return { title, finding, chart: `<ul class="lines">${lines.join("\n")}</ul>` };
}

/** The config as it was written; on demand with all defaults, and the inputs and the machine of the job. */
function configPanel({ config, model, provenance, importances }: Origin): Panel {
  const finding =
    config === undefined
      ? "The output does not have the text of its config. The model has all defaults filled in."
      : "The config as it was written. The model has all defaults filled in.";
  const text =
    config === undefined
      ? ""
      : `<pre class="config" tabindex="0" role="group" aria-label="Config"><code>${escapeHtml(visibleLines(configText(config)))}</code></pre>`;
  return {
    title: "Config and provenance",
    finding: importances.absent === undefined ? finding : `${importances.absent} ${finding}`,
    chart: `${text}${textsHtml("Model", model)}${textsHtml("Provenance", provenance)}`,
  };
}

function textsHtml(title: string, texts: readonly NamedText[]): string {
  const rows = texts.map(({ name, text }) => [name, text]);
  return `<details class="texts"><summary>${title}: ${texts.length} entries</summary>${plainTable({ caption: title, columns: ["Name", "Value"], rows })}</details>`;
}
