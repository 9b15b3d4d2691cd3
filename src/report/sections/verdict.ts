import type { Operation } from "../../contract/config/job-operations.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { returnsText } from "../../contract/output/later-close.ts";
import type { DelayedOrder } from "../../contract/output/metrics-schemas.ts";
import type { FindingState, Verdict as ForecastVerdict, RowsVerdict } from "../../contract/output/verdict.ts";
import type { ForecastTable } from "../../evaluate/forecast-table.ts";
import { countedRows, figure, typesetFigures } from "../../view/figures.ts";
import { escapeText } from "../charts/plot.ts";
import { JUDGED_ROWS, NO_FOLDS, type OutputEvidence, whyNoLabels } from "../evidence/output-evidence.ts";
import { type ReportedOutput, stateOf } from "../evidence/reported-outputs.ts";
import { type Panel, plainTable, sentenceHtml } from "../panels/panel.ts";
import { besideHtml, byRowsHtml, hasReturns, panelsHtml, panelsOf, type Section } from "../panels/section.ts";
import { byCloseHtml } from "./by-close.ts";
import { cumulativePanels, skillOverTime } from "./skill-over-time.ts";
import { type Tile, tileHtml, tilesOf } from "./verdict-tiles.ts";

/** The first screen: the verdict with a sentence for each of its parts, the sum of the RankIC beside it, and the tiles. */
export const verdictSection: Section = {
  id: "verdict",
  title: "Verdict",
  html: (report) => {
    const { outputs } = report;
    if (outputs.length === 1) return aloneHtml(outputs[0]!);
    const sums = hasReturns(report) ? besideHtml(outputs, sumPanels) : "";
    return `<div class="beside">${outputs.map(besideVerdictHtml).join("\n")}</div>${sums}`;
  },
};

/** The conclusion for the reader. */
interface Verdict {
  /** State, title and sentences of the output's verdict; with several outputs, on the rows that all of them have. */
  readonly state: ForecastVerdict["state"];
  readonly title: string;
  readonly sentences: readonly string[];
  /** The findings behind the title; undefined without a ticker. */
  readonly judged: RowsVerdict | undefined;
  readonly facts: Facts;
  readonly tiles: readonly Tile[];
  /** What the order is worth by the close of the trades; none in older outputs. */
  readonly orders: readonly DelayedOrder[];
  /** The order at the first close after the forecasts, in a sentence; with one output. */
  readonly later: string | undefined;
  readonly baselines: readonly ForecastMetrics[];
}

interface Facts {
  readonly operation: Operation;
  /** Each as `YYYY-MM-DD`. */
  readonly learningEnd: string | null;
  readonly asOf: string;
  readonly delay: number | undefined;
  /** The number of tickers with forecasts. */
  readonly tickers: number;
  readonly judgedRows: OutputEvidence["judgedRows"];
  /** The labelled rows of the report, and their first and last day. */
  readonly rows: number;
  readonly dates: number;
  readonly firstDay: Day | undefined;
  readonly lastDay: Day | undefined;
  /** Why no row has a label; undefined if one has. */
  readonly whyNone: string | undefined;
}

/** A row of the table of forecasts: the model, the zero forecast, the historical mean. */
interface ForecastMetrics {
  readonly name: string;
  readonly rmse: number | null;
  readonly mae: number | null;
  readonly hitRate: number | null;
  /** Against zero over all rows as one sample, so that tickers with large returns weigh most. */
  readonly r2Pooled: number | null;
}

/** The verdict on the order of the forecasts, their sizes and their intervals. */
export function verdictOf(output: ReportedOutput): Verdict {
  const { common } = output;
  const { verdict } = common;
  return {
    state: stateOf(output),
    title: verdict?.title ?? "Nothing to judge",
    // One line for each sentence.
    sentences: verdict?.sentence.split(/(?<=\.) (?=[A-Z])/) ?? ["The output has no ticker with a forecast."],
    judged: verdict?.judged[0],
    facts: factsOf(output),
    tiles: tilesOf(common),
    orders: common.document.metrics[common.judgedRows]?.by_delay ?? [],
    later: verdict?.later,
    baselines: baselineRows(common),
  };
}

function factsOf({ whole, common }: ReportedOutput): Facts {
  const { document, judgedRows, rows, labelled, dateCount, table } = common;
  const { operation, window } = document;
  const firsts = labelled.flatMap(({ days }) => days[0] ?? []);
  const lasts = labelled.flatMap(({ days }) => days.at(-1) ?? []);
  return {
    operation,
    learningEnd: window.learning_end,
    asOf: window.as_of,
    delay: window.delay,
    tickers: rows.length,
    judgedRows,
    rows: table.pooled.n,
    dates: dateCount,
    firstDay: firsts.length === 0 ? undefined : firsts.reduce((a, b) => Math.min(a, b)),
    lastDay: lasts.length === 0 ? undefined : lasts.reduce((a, b) => Math.max(a, b)),
    whyNone: dateCount > 0 ? undefined : whole.dateCount > 0 ? NONE_SHARED : whyNoLabels(whole),
  };
}

const NONE_SHARED = "No row that all outputs have has a realised return.";

/** The model beside the forecasts that any model has to beat, on the same rows. */
function baselineRows({ modelName, table, zeroTable, meanTable }: OutputEvidence): ForecastMetrics[] {
  const rows = [metricsRow(modelName, table), metricsRow("zero forecast", zeroTable)];
  return meanTable === undefined ? rows : [...rows, metricsRow("historical mean", meanTable)];
}

function metricsRow(name: string, { pooled }: ForecastTable): ForecastMetrics {
  return {
    name,
    rmse: pooled.rmse,
    mae: pooled.mae,
    hitRate: pooled.hit_rate,
    r2Pooled: pooled.r2_zero,
  };
}

/** The class of each state: only skill with correct sizes is good. */
const BADGES: Readonly<Record<Verdict["state"], "some" | "none" | "unknown">> = {
  skill: "some",
  oversized: "unknown",
  none: "none",
  worse: "none",
  too_few: "unknown",
};

function aloneHtml(output: ReportedOutput): string {
  const verdict = verdictOf(output);
  const figures = byRowsHtml(output, (on) =>
    figuresHtml(on === output ? verdict : verdictOf(on), on.name, on !== output),
  );
  if (verdict.facts.dates === 0) return `<div class="verdict">${answerHtml(verdict)}</div>\n${figures}`;
  const sums = byRowsHtml(output, (on, rows) => panelsHtml(sumPanels(on), rows));
  return `<div class="verdict answer"><div>${answerHtml(verdict)}</div>${sums}</div>
${figures}`;
}

function besideVerdictHtml(output: ReportedOutput): string {
  const verdict = verdictOf(output);
  return `<div class="verdict"><h3 class="model"><bdi>${escapeText(output.name)}</bdi></h3>
${answerHtml(verdict)}
${figuresHtml(verdict, output.name)}</div>`;
}

/** The sums of both measures of order, or why there are none. */
function sumPanels({ common }: ReportedOutput): readonly Panel[] {
  return panelsOf("Skill over time", skillOverTime(common), cumulativePanels);
}

/** The parts of a verdict, by the word that their sentences begin with. */
const CHIPS = { Order: "order", Sizes: "sizes", Intervals: "intervals" } as const;

/** How a finding looks: a mark tells it from the others without its colour. */
const CHIP_LOOKS: Readonly<Record<FindingState, readonly [kind: string, path: string]>> = {
  evidence: ["good", "M3 9l4 4 6-9"],
  none: ["none", "M3 8h10"],
  worse: ["bad", "M4 4l8 8M12 4l-8 8"],
  too_few: ["unknown", "M4 12h0M8 12h0M12 12h0"],
};

/** The badge, the sentences before the parts, and a chip for each part. */
function answerHtml({ state, title, sentences, judged, later }: Verdict): string {
  const parts = chipsOf(sentences);
  const rest = sentences.slice(0, sentences.length - parts.flatMap(([, own]) => own).length);
  const chips = parts.map(([name, own]) => {
    const found = judged?.[CHIPS[name]]?.state ?? "too_few";
    const [kind, path] = CHIP_LOOKS[found] ?? CHIP_LOOKS.too_few;
    const whole = own.join(" ");
    const label = whole.slice(0, whole.indexOf(":"));
    const text = sentenceHtml(typesetFigures(whole.slice(label.length)));
    return `<li class="chip ${kind}"><svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg><p><b>${label}</b>${text}</p></li>`;
  });
  return `<p class="badge ${BADGES[state] ?? "unknown"}">${escapeText(title)}</p>
<div class="sentences">${rest.map((sentence) => `<p>${sentenceHtml(typesetFigures(sentence))}</p>`).join("")}</div>
<ul class="chips">${chips.join("\n")}</ul>${later === undefined ? "" : `\n<p class="later">${sentenceHtml(typesetFigures(later))}</p>`}`;
}

/** The sentences of each part, which are the last ones; a sentence without the word of a part continues the part before it. */
export function chipsOf(
  sentences: readonly string[],
): readonly (readonly [name: keyof typeof CHIPS, sentences: readonly string[]])[] {
  const chips: [keyof typeof CHIPS, string[]][] = [];
  for (const sentence of sentences) {
    const [name] = (Object.keys(CHIPS) as (keyof typeof CHIPS)[]).filter((each) =>
      [`${each}: `, `${each} over time: `].some((start) => sentence.startsWith(start)),
    );
    if (name !== undefined) chips.push([name, [sentence]]);
    else chips.at(-1)?.[1].push(sentence);
  }
  return chips;
}

/**
 * The tiles on one baseline; below them what they were computed from, and the forecasts that any model has to beat. Without a realised
 * return, only what exists.
 */
function figuresHtml(verdict: Verdict, name: string, isSwitched = false): string {
  const hasReturns = verdict.facts.dates > 0;
  const tiles = hasReturns ? verdict.tiles : verdict.tiles.filter(({ value }) => value !== null);
  const list = tiles.length === 0 ? "" : `<ul class="tiles">${tiles.map(tileHtml).join("\n")}</ul>\n`;
  const table = hasReturns ? `\n${baselinesTable(verdict, name)}` : "";
  const facts = factsLine(verdict, isSwitched, tiles.length > 0);
  return `${list}${byCloseHtml(verdict.orders, verdict.facts.judgedRows)}<div class="facts"><p class="faint">${sentenceHtml(facts)}</p>${table}</div>`;
}

const WHY_FOLDS = {
  score: "",
  out_of_fold:
    " No score row has a realised return yet, so this report shows out-of-fold forecasts, each by a model that had not learned from the row.",
} as const;

/** The rows of the slope, which a job fits on rows before the cut. */
const SLOPE_ROWS: Readonly<Record<Operation, string>> = {
  run_ml_job: "The slope is measured on the out-of-fold rows.",
  run_dl_job: "The slope is measured on the calibration rows.",
};

/** @param isSwitched whether the reader chose these rows. */
function factsLine({ facts }: Verdict, isSwitched: boolean, hasTiles: boolean): string {
  const { operation, judgedRows, whyNone, delay } = facts;
  const slope = judgedRows === "score" ? ` ${SLOPE_ROWS[operation]}` : "";
  const tiles = `On the lines of the tiles, the dot is the value, the bar is its band, and the dashed mark is the reference.${slope}`;
  if (whyNone !== undefined) return [`${operation}.`, whyNone, ...(hasTiles ? [tiles] : [])].join(" ");
  const networks = operation === "run_dl_job" ? ` ${NO_FOLDS}` : "";
  return `${operation}, judged on ${judgedText(facts)}.${networks}${isSwitched ? "" : WHY_FOLDS[judgedRows]} Returns are ${returnsText(delay, " in percent")}; returns of quantiles are simple returns. ${tiles}`;
}

function judgedText({ rows, judgedRows, tickers, dates, firstDay, lastDay }: Facts): string {
  return `${figure(rows, "count")} ${JUDGED_ROWS[judgedRows]} of ${countedRows(tickers, "ticker")} over ${countedRows(dates, "date")}, ${formatDay(firstDay!)} to ${formatDay(lastDay!)}`;
}

function baselinesTable({ baselines }: Verdict, name: string): string {
  return plainTable({
    caption: `${name} and the forecasts that any model has to beat`,
    columns: ["Forecast", "R², pooled rows", "Hit rate", "RMSE", "MAE"],
    rows: baselines.map((row) => [
      row.name,
      figure(row.r2Pooled, "r2"),
      figure(row.hitRate, "coverage"),
      figure(row.rmse, "rmse"),
      figure(row.mae, "rmse"),
    ]),
  });
}
