import type { CallToolResult } from "@modelcontextprotocol/server";
import type { ForecastView, TickerForecast } from "../../contract/api/forecast-view.ts";
import type { OperationPage, OperationView, VerdictView } from "../../contract/api/operation-view.ts";
import { show } from "../../contract/errors/faults.ts";
import { counted, printable } from "../../contract/errors/wording.ts";
import { shortText } from "../../contract/json/bounded-json.ts";
import { closeName, summaryIc } from "../../contract/output/later-close.ts";
import type { LaterFigures } from "../../contract/output/metrics-schemas.ts";
import { type CodeCounts, countCodes, SIZES } from "../../contract/schema/answer-limits.ts";
import { problemAnswer } from "../http/server/problem-answer.ts";
import { verdictOperation } from "../verdict/verdicts.ts";

/** The answer of a tool: the operation, page, forecast or verdict itself, and a text with the next step. */
export function toolResult(
  answer: OperationView | OperationPage | ForecastView | VerdictView,
): CallToolResult {
  const text = shortText(describe(answer), SIZES.toolText);
  return { content: [{ type: "text", text }], structuredContent: { ...answer } };
}

function describe(answer: Parameters<typeof toolResult>[0]): string {
  if ("operations" in answer) return pageText(answer);
  if ("forecasts" in answer) return forecastText(answer);
  return "status" in answer ? operationText(answer) : verdictText(answer);
}

/**
 * The answer of a tool to an error: the problem, with which the agent can correct its call.
 * @param onDefect called for a defect, with the id in its problem.
 */
export function toolError(error: unknown, onDefect: (error: unknown, id: unknown) => void): CallToolResult {
  const { problem, isDefect } = problemAnswer(error);
  if (isDefect) onDefect(error, problem.id);
  const lines = JSON.stringify(problem, null, 2).split("\n").map(printable);
  // Not as structuredContent: some clients validate that against the output schema even for an error.
  return { isError: true, content: [{ type: "text", text: lines.join("\n") }] };
}

function operationText(operation: OperationView): string {
  return [`${operation.operation} ${operation.id}: ${operation.status}.`, ...sentences(operation)].join(" ");
}

const ASK_AGAIN = "Ask get_operation for this id again in a few seconds.";

function sentences(operation: OperationView): string[] {
  const { status, progress, warnings, failures = [], result, error } = operation;
  const { warning_counts = countCodes(warnings), failure_counts = countCodes(failures) } = operation;
  const warned = [
    ...codesText("Warnings", warning_counts),
    ...codesText("Tickers that failed", failure_counts),
  ];
  if (result !== null) return [resultText(operation, result.output_url), ...worthText(operation), ...warned];
  if (error !== null) return [`${error.code}: ${printable(error.detail)}.`, error.advice, ...warned];
  const left = progress?.seconds_left === undefined ? "" : `, about ${progress.seconds_left} s left`;
  const done =
    progress === null ? [] : [`${progress.stage}: ${progress.done} of ${progress.total ?? "?"}${left}.`];
  return status === "NotStarted" ? [ASK_AGAIN] : [...done, ASK_AGAIN];
}

function resultText(operation: OperationView, url: string): string {
  return verdictOperation(operation) === undefined
    ? `The output blob with mu is ${url}; get_forecast summarizes it.`
    : `The verdict is the blob ${url}; get_verdict gives it.`;
}

/** What the forecasts of a job are worth, in a sentence. */
function worthText({ summary }: OperationView): string[] {
  if (summary === undefined) return [];
  const { model, tickers, verdict } = summary;
  const forecasts = `${printable(model)} forecasts ${counted(tickers, "ticker")}`;
  if (verdict === null) return [`${forecasts}.`];
  const { title, r2, dates, later } = verdict;
  const ic = summaryIc(summary);
  const figures = [...(ic === null ? [] : [`IC ${round(ic)}`]), `R² ${round(r2)}`].join(", ");
  return [
    `${forecasts}. ${printable(title)}: ${figures} over ${counted(dates, "date")}.`,
    ...(later === undefined || later.ic === null
      ? []
      : [`Traded ${closeName(later.delay)}: IC ${round(later.ic)}${netText(later)}.`]),
  ];
}

function netText({ net_5bp: net }: LaterFigures): string {
  return net === null
    ? ""
    : `, the top fifth minus the bottom fifth ${round(net)} bp a day after costs of 5 bp a side`;
}

/** Each code once, with its count. */
function codesText(what: string, counts: CodeCounts): string[] {
  const codes = Object.entries(counts).map(([code, count]) => (count === 1 ? code : `${code} (${count})`));
  return codes.length === 0 ? [] : [`${what}: ${codes.join(", ")}.`];
}

function pageText({ operations, next_cursor }: OperationPage): string {
  const lines = operations.map(
    ({ id, operation, status, created_at, tags }) =>
      `${id} ${operation} ${status}, created ${created_at}${tags === undefined ? "" : `, tags ${tags.map(show).join(", ")}`}`,
  );
  const more =
    next_cursor === null ? [] : [`There are more: ask again with cursor ${JSON.stringify(next_cursor)}.`];
  return [operations.length === 0 ? "No operations." : lines.join("\n"), ...more].join("\n");
}

/** Maximum number of findings in the text of a verdict; the structured content has all. */
const FINDINGS_SHOWN = 10;

/** A verdict in lines. */
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

/** A forecast in lines, for hosts that show an agent only the text. */
function forecastText(view: ForecastView): string {
  const { id, operation, window, verdict, refits, choice, count, forecasts, missing, left_out, metrics } =
    view;
  const { pooled } = metrics.score;
  const { zero, mean } = metrics.baselines;
  const compared = [pooled, zero, mean].map(({ rmse }) => round(rmse)).join(", ");
  return [
    `${operation} ${id} as of ${window.as_of}: ${forecasts.length} of ${counted(count, "ticker")} with a mu.`,
    ...(verdict === undefined
      ? []
      : [verdict.sentence, ...(verdict.later === undefined ? [] : [verdict.later])].map(printable)),
    ...(refits === undefined
      ? []
      : [`Models refitted ${counted(refits.count, "time")}, last on ${printable(refits.last)}.`]),
    ...(choice === undefined ? [] : choiceLines(choice)),
    ...forecasts.map(tickerLine),
    ...missing.map(({ ticker, message }) => `${show(ticker)} has no mu: ${printable(message)}`),
    ...(left_out === 0 ? [] : [`${left_out} more did not fit into this answer; ask for them by name.`]),
    `All tickers: hit rate ${hitRate(pooled)}; RMSE of the model, the zero forecast, the mean: ${compared}${shrinkageText(metrics.shrinkage)}.`,
  ].join("\n");
}

/** What choosing was worth, and a line per candidate. */
function choiceLines(choice: NonNullable<ForecastView["choice"]>): string[] {
  const { candidates, count, honest, best, measure } = choice;
  const [key, name] = measure === "ic" ? (["ic", "mean IC"] as const) : (["r2", "R²"] as const);
  const claimed = candidates.find(({ number }) => number === best)?.[key] ?? null;
  return [
    `Chosen among ${counted(count, "candidate")}: ${name} ${round(honest[key] ?? null)} on held-out rows as chosen in advance, ${round(claimed)} for candidate ${best}, the best afterwards; gain over candidate 0 ${gainText(honest)}.`,
    ...candidates.map(
      ({ number, label, member, ...figures }) =>
        `Candidate ${number}, ${show(label)}${member ? ", member" : ""}: R² ${round(figures.r2)}${icText(figures)}, gain ${gainText(figures)}`,
    ),
    ...(candidates.length < count
      ? [`${count - candidates.length} further candidates are in the output.`]
      : []),
  ];
}

/** Outputs of older versions have no IC. */
function icText({ ic }: NonNullable<ForecastView["choice"]>["honest"]): string {
  return ic === undefined ? "" : `, IC ${round(ic)}`;
}

function gainText({ gain, gain_t }: NonNullable<ForecastView["choice"]>["honest"]): string {
  return gain_t === null ? round(gain) : `${round(gain)} (t ${round(gain_t)})`;
}

function tickerLine({ ticker, mu, metrics, coverage, shrinkage }: TickerForecast): string {
  const hit = metrics === null ? "" : `, hit rate ${hitRate(metrics)}, RMSE ${round(metrics.rmse)}`;
  const covered = coverage === null ? "" : `, coverage ${round(coverage.coverage)}`;
  return `${show(ticker)} mu ${mu}${hit}${covered}${shrinkageText(shrinkage, ",")}`;
}

/** The share of a forecast that its past supports; empty if the output does not have it. */
function shrinkageText(shrinkage: TickerForecast["shrinkage"], mark = ";"): string {
  if (shrinkage === undefined) return "";
  const { s, b, se } = shrinkage;
  return `${mark} shrinkage ${round(s)} (slope ${round(b)}${se === null ? "" : ` ± ${round(se)}`})`;
}

/** With its error and the share of up days, if the output has them. */
function hitRate({ hit_rate, hit_rate_se, up_share }: ForecastView["metrics"]["score"]["pooled"]): string {
  if (hit_rate === null || hit_rate_se == null || up_share == null) return round(hit_rate);
  return `${round(hit_rate)} ± ${round(hit_rate_se)} (${round(up_share)} of the returns were up)`;
}

const DIGITS = 4;

function round(value: number | null): string {
  return value === null ? "none" : String(Number(value.toPrecision(DIGITS)));
}
