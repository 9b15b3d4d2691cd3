import type { CallToolResult } from "@modelcontextprotocol/server";
import type { ForecastView, TickerForecast } from "../../contract/api/forecast-view.ts";
import type { JobPreview } from "../../contract/api/job-preview.ts";
import type { OperationPage, OperationView, VerdictView } from "../../contract/api/operation-view.ts";
import { show } from "../../contract/errors/faults.ts";
import { counted, printable } from "../../contract/errors/wording.ts";
import { shortText } from "../../contract/json/bounded-json.ts";
import { closeName, summaryIc } from "../../contract/output/later-close.ts";
import { type CodeCounts, countCodes, SIZES } from "../../contract/schema/answer-limits.ts";
import { verdictOperation } from "../forecast/forecasts.ts";
import { problemAnswer } from "../http/http-app.ts";
import type { ToolAnswer } from "./tools.ts";

export function toolResult(answer: ToolAnswer): CallToolResult {
  const text = shortText(describe(answer), SIZES.toolText);
  return { content: [{ type: "text", text }], structuredContent: { ...answer } };
}

function describe(answer: ToolAnswer): string {
  if ("operations" in answer) return pageText(answer);
  if ("forecasts" in answer) return forecastText(answer);
  if ("tickers" in answer) return previewText(answer);
  return "status" in answer ? operationText(answer) : verdictText(answer);
}

export function toolError(error: unknown, onDefect: (error: unknown, id: unknown) => void): CallToolResult {
  const { problem, isDefect } = problemAnswer(error);
  if (isDefect) onDefect(error, problem.id);
  const lines = JSON.stringify(problem, null, 2).split("\n").map(printable);
  // Not as structuredContent: some clients validate that against the output schema even for an error.
  return { isError: true, content: [{ type: "text", text: lines.join("\n") }] };
}

function operationText(operation: OperationView): string {
  const { id, status, progress, warnings, failures = [], result, error } = operation;
  const { warning_counts = countCodes(warnings), failure_counts = countCodes(failures) } = operation;
  const sentences = [`${operation.operation} ${id}: ${status}.`];
  if (result === null && error === null) {
    const left = progress?.seconds_left === undefined ? "" : `, about ${progress.seconds_left} s left`;
    if (progress !== null && status !== "NotStarted")
      sentences.push(`${progress.stage}: ${progress.done} of ${progress.total ?? "?"}${left}.`);
    return [...sentences, "Ask get_operation for this id again in a few seconds."].join(" ");
  }
  if (result !== null) {
    const isForecast = verdictOperation(operation) === undefined;
    sentences.push(
      isForecast
        ? `The output blob with mu is ${result.output_url}; get_forecast summarizes it.`
        : `The verdict is the blob ${result.output_url}; get_verdict gives it.`,
      ...worthText(operation),
    );
  } else sentences.push(`${error!.code}: ${printable(error!.detail)}.`, error!.advice);
  sentences.push(
    ...codesText("Warnings", warning_counts),
    ...codesText("Tickers that failed", failure_counts),
  );
  return sentences.join(" ");
}

function worthText({ summary }: OperationView): string[] {
  if (summary === undefined) return [];
  const { model, tickers, verdict } = summary;
  const forecasts = `${printable(model)} forecasts ${counted(tickers, "ticker")}.`;
  if (verdict === null) return [forecasts];
  const { title, r2, dates, later } = verdict;
  const ic = summaryIc(summary);
  const figures = `${ic === null ? "" : `IC ${round(ic)}, `}R² ${round(r2)}`;
  const texts = [forecasts, `${printable(title)}: ${figures} over ${counted(dates, "date")}.`];
  if (later === undefined || later.ic === null) return texts;
  const net = later.net_5bp === null ? "" : `, the top fifth minus the bottom fifth ${round(later.net_5bp)}`;
  const costs = net && " bp a day after costs of 5 bp a side";
  return [...texts, `Traded ${closeName(later.delay)}: IC ${round(later.ic)}${net}${costs}.`];
}

function codesText(what: string, counts: CodeCounts): string[] {
  const codes = Object.entries(counts).map(([code, count]) => (count === 1 ? code : `${code} (${count})`));
  return codes.length === 0 ? [] : [`${what}: ${codes.join(", ")}.`];
}

function previewText(preview: JobPreview): string {
  const { model, window, tickers, ticker_count = tickers.length, estimate } = preview;
  const { warning_counts = {}, failure_counts = {} } = preview;
  const trained = `${printable(model.name)} on ${counted(ticker_count, "ticker")}`;
  const shown = ticker_count > tickers.length ? ` The first ${tickers.length} tickers are listed.` : "";
  return [
    estimate === undefined
      ? "The job would train nothing: its config is switched off."
      : `The job would train ${trained}, as of ${window.as_of}, in about ${estimate.seconds} s of processor time.${shown}`,
    ...codesText("Warnings", warning_counts),
    ...codesText("Tickers that would fail", failure_counts),
  ].join(" ");
}

function pageText({ operations, next_cursor }: OperationPage): string {
  const lines = operations.map(({ id, operation, status, created_at, tags }) => {
    const tagged = tags === undefined ? "" : `, tags ${tags.map(show).join(", ")}`;
    return `${id} ${operation} ${status}, created ${created_at}${tagged}`;
  });
  if (lines.length === 0) lines.push("No operations.");
  if (next_cursor !== null)
    lines.push(`There are more: ask again with cursor ${JSON.stringify(next_cursor)}.`);
  return lines.join("\n");
}

/** In the text of a verdict; the structured content has all. */
const FINDINGS_SHOWN = 10;

function verdictText({ id, operation, audit, replay }: VerdictView): string {
  const lines = [`${operation} ${id}: ${audit?.verdict ?? replay?.verdict}.`];
  const findings = audit?.findings ?? [];
  for (const { number, severity, code, message, advice } of findings.slice(0, FINDINGS_SHOWN)) {
    lines.push(`${number}. ${severity} ${code}: ${printable(message)} ${printable(advice)}`);
  }
  const more = findings.length - FINDINGS_SHOWN;
  if (more > 0) lines.push(`${counted(more, "further finding")} in the structured content and the blob.`);
  for (const [name, check] of Object.entries(audit?.checks ?? {})) {
    if (check?.reason !== undefined) lines.push(`${name} was not run: ${printable(check.reason)}`);
  }
  if (replay?.compared !== undefined) lines.push(`${counted(replay.compared.numbers, "number")} compared.`);
  if (replay?.reason !== undefined) {
    const { code, message, advice } = replay.reason;
    lines.push(`${code}: ${printable(message)} ${printable(advice)}`);
  }
  return lines.join("\n");
}

function forecastText(view: ForecastView): string {
  const { verdict, refits, choice, count, forecasts, missing, left_out, metrics } = view;
  const { pooled } = metrics.score;
  const { zero, mean } = metrics.baselines;
  const compared = [pooled, zero, mean].map(({ rmse }) => round(rmse)).join(", ");
  const shown = `${forecasts.length} of ${counted(count, "ticker")} with a mu.`;
  const lines = [`${view.operation} ${view.id} as of ${view.window.as_of}: ${shown}`];
  if (verdict !== undefined) lines.push(printable(verdict.sentence));
  if (verdict?.later !== undefined) lines.push(printable(verdict.later));
  if (refits !== undefined)
    lines.push(`Models refitted ${counted(refits.count, "time")}, last on ${printable(refits.last)}.`);
  if (choice !== undefined) lines.push(...choiceLines(choice));
  for (const { ticker, mu, metrics, coverage, shrinkage } of forecasts) {
    const hit = metrics === null ? "" : `, hit rate ${hitRate(metrics)}, RMSE ${round(metrics.rmse)}`;
    const covered = coverage === null ? "" : `, coverage ${round(coverage.coverage)}`;
    lines.push(`${show(ticker)} mu ${mu}${hit}${covered}${shrinkageText(shrinkage, ",")}`);
  }
  for (const { ticker, message } of missing) lines.push(`${show(ticker)} has no mu: ${printable(message)}`);
  if (left_out > 0) lines.push(`${left_out} more did not fit into this answer; ask for them by name.`);
  const rmse = `RMSE of the model, the zero forecast, the mean: ${compared}`;
  lines.push(`All tickers: hit rate ${hitRate(pooled)}; ${rmse}${shrinkageText(metrics.shrinkage, ";")}.`);
  return lines.join("\n");
}

function choiceLines(choice: NonNullable<ForecastView["choice"]>): string[] {
  const { candidates, count, honest, best, measure } = choice;
  const [key, name] = measure === "ic" ? (["ic", "mean IC"] as const) : (["r2", "R²"] as const);
  const claimed = candidates.find(({ number }) => number === best)?.[key] ?? null;
  const gainText = ({ gain, gain_t }: typeof honest) =>
    gain_t === null ? round(gain) : `${round(gain)} (t ${round(gain_t)})`;
  const lines = candidates.map(({ number, label, member, ...figures }) => {
    // Outputs of older versions have no IC.
    const ic = figures.ic === undefined ? "" : `, IC ${round(figures.ic)}`;
    const values = `R² ${round(figures.r2)}${ic}, gain ${gainText(figures)}`;
    return `Candidate ${number}, ${show(label)}${member ? ", member" : ""}: ${values}`;
  });
  const more = count - candidates.length;
  return [
    `Chosen among ${counted(count, "candidate")}: ${name} ${round(honest[key] ?? null)} on held-out rows as chosen in advance, ${round(claimed)} for candidate ${best}, the best afterwards; gain over candidate 0 ${gainText(honest)}.`,
    ...lines,
    ...(more > 0 ? [`${more} further candidates are in the output.`] : []),
  ];
}

function shrinkageText(shrinkage: TickerForecast["shrinkage"], mark: string): string {
  if (shrinkage === undefined) return "";
  const { s, b, se } = shrinkage;
  return `${mark} shrinkage ${round(s)} (slope ${round(b)}${se === null ? "" : ` ± ${round(se)}`})`;
}

function hitRate({ hit_rate, hit_rate_se, up_share }: ForecastView["metrics"]["score"]["pooled"]): string {
  if (hit_rate === null || hit_rate_se == null || up_share == null) return round(hit_rate);
  return `${round(hit_rate)} ± ${round(hit_rate_se)} (${round(up_share)} of the returns were up)`;
}

function round(value: number | null): string {
  return value === null ? "none" : String(Number(value.toPrecision(4)));
}
