import { randomUUID } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { replaceByStaged, stageFile } from "../blob/folder/staged-file.ts";
import { blobLimits } from "../contract/blob-limits.ts";
import { EXAMPLE_CONFIGS } from "../contract/config/example-configs.ts";
import type { Operation } from "../contract/config/job-operations.ts";
import { invalidRequest } from "../contract/errors/faults.ts";
import { printable } from "../contract/errors/wording.ts";
import { rawNumber, rawNumbers } from "../contract/json/json-text.ts";
import { laterFigures } from "../contract/output/later-close.ts";
import { nextStep } from "../contract/output/next-step.ts";
import { runOperation } from "../executors/run-operation.ts";
import { csvCell } from "../export/export-forecasts.ts";
import { type OutputDocument, openDocument } from "../outputs/open-document.ts";
import type { PrepareOptions } from "../prepare/prepare-prices.ts";
import {
  configText,
  jobResources,
  noticeOf,
  type ReportFlags,
  reporterOf,
  withReportFlags,
} from "./jobs/job-options.ts";
import { writeJobReport } from "./jobs/job-report.ts";
import { dateFormatOption, follow } from "./prepare.ts";
import { tableOf } from "./show.ts";
import { table } from "./terminal/output-table.ts";
import { untilSignal } from "./terminal/signals.ts";

interface ForecastFlags extends ReportFlags {
  readonly config?: string;
  readonly out: string;
  readonly features?: string;
  readonly tickers?: string;
  readonly ticker?: string;
  readonly timeZone?: string;
  readonly dateFormat?: PrepareOptions["dateFormat"];
  readonly learningEnd?: string;
  readonly delay?: string;
  readonly report?: boolean;
}

/** From here on, a model that compares tickers is better than one for each (docs/skill.md). */
const PANEL_TICKERS = 50;

/** Of more tickers, those with the largest and the smallest `mu`. */
const TICKERS_SHOWN = 20;

const HELP = `
Examples:
  mucast forecast prices.csv --learning-end 2020-12-31 --delay 1 --report
  mucast forecast prices.parquet --config portfolio-lstm --out tomorrow

Prepares the prices, trains models, and prints the forecasts, what they are worth, and what to do next. The folder of --out then
holds the input blobs, the output, and mu.csv.`;

export function addForecast(program: Command): void {
  const command = program
    .command("forecast")
    .description("go from prices to mu in one command")
    .argument(
      "<prices>",
      "prices as CSV or Parquet, with one column per ticker or one row per (date, ticker)",
    )
    .option(
      "--config <file|name>",
      `a config, or the name of an example: ${EXAMPLE_CONFIGS.map(({ name }) => name).join(", ")} (default: pooled-lightgbm from ${PANEL_TICKERS} tickers on, otherwise ridge)`,
    )
    .option("--out <dir>", "folder of the blobs, the output and mu.csv", "forecasts")
    .option("--features <file>", "features of your own, with one row per (date, ticker)")
    .option("--tickers <list>", "comma-separated tickers (default: all)")
    .option("--ticker <name>", "the security of a file without tickers")
    .option("--time-zone <name>", "zone of times, such as Europe/Berlin")
    .addOption(dateFormatOption())
    .option("--learning-end <date>", "last date to learn from; shows what the forecasts after it were worth")
    .option("--delay <n>", "closes between the forecast and the trade (default: that of the config)")
    .option("--report", "write an HTML report beside the output");
  withReportFlags(command)
    .addHelpText("after", HELP)
    .action(async (prices: string, flags: ForecastFlags) => {
      const reporter = reporterOf(flags);
      try {
        await untilSignal((signal) => forecast(prices, flags, reporter, signal));
      } finally {
        reporter.finish();
      }
    });
}

async function forecast(
  prices: string,
  flags: ForecastFlags,
  reporter: ReturnType<typeof reporterOf>,
  signal: AbortSignal,
): Promise<void> {
  const { cluster: _, ...resources } = jobResources(flags, process.env);
  const chosen = flags.config === undefined ? undefined : configText(flags.config);
  const { finish, ...following } = follow(process.stderr, flags.quiet === true);
  const { preparePrices } = await import("../prepare/prepare-prices.ts");
  const prepared = await preparePrices({
    csvPath: resolve(prices),
    featuresPath: flags.features && resolve(flags.features),
    outFolder: resolve(flags.out),
    options: {
      learningEnd: flags.learningEnd,
      ticker: flags.ticker,
      timeZone: flags.timeZone,
      dateFormat: flags.dateFormat,
      tickers: flags.tickers?.split(",").map((ticker) => ticker.trim()),
    },
    ...following,
    signal,
    limits: { tickers: blobLimits(process.env).tickers },
  }).finally(finish);
  const isPanel = prepared.tickers.length >= PANEL_TICKERS;
  const text = delayed(chosen ?? configText(isPanel ? "pooled-lightgbm" : "ridge"), flags.delay);
  const policy = { allowed: [] };
  const request = {
    featureUrl: prepared.featurePath,
    dataExtractorUrl: prepared.dataExtractorPath,
    config: text,
    blobUrl: undefined,
    id: randomUUID(),
  };
  const context = { ...resources, notice: noticeOf(reporter), policy, report: reporter.report, signal };
  const record = await runOperation({ operation: operationOf(text), options: {} }, request, context);
  reporter.finish();
  const output = fileURLToPath(record.output_url);
  const document = await openDocument(output, { policy, signal });
  const rows = muRows(document);
  const muPath = join(dirname(output), "mu.csv");
  await replaceByStaged(await stageFile(dirname(muPath), "mu.csv", muCsv(rows), { signal, shown: muPath }));
  process.stdout.write(`${muTable(rows)}\n\n${await tableOf([output], { policy, signal })}\n`);
  process.stdout.write(`${nextSteps(document)}\n\nmu:      ${muPath}\noutput:  ${output}\n`);
  if (flags.report === true) await writeJobReport(record.output_url, { policy, signal }, reporter);
}

/** The config with the delay of the flag, and every number as the caller wrote it. */
function delayed(text: string, delay: string | undefined): string {
  if (delay === undefined) return text;
  if (!/^\d{1,9}$/.test(delay)) {
    throw invalidRequest([
      { path: "--delay", message: `must be a number of closes, got ${JSON.stringify(delay)}` },
    ]);
  }
  const config = rawNumbers(text) as { [section: string]: Record<string, unknown> };
  const ml = config["ML params"];
  const settings = ml ?? (config["NN params"]?.["Dot prediction"] as Record<string, unknown> | undefined);
  if (settings !== undefined) settings.delay = rawNumber(delay);
  return JSON.stringify(config);
}

/** The job whose section the config has; the job itself refuses a config without one. */
function operationOf(text: string): Operation {
  const config = rawNumbers(text) as object;
  return Object.hasOwn(config, "NN params") && !Object.hasOwn(config, "ML params")
    ? "run_dl_job"
    : "run_ml_job";
}

type MuRow = ReturnType<typeof muRows>[number];

/** The forecasts with their intervals, NaN for an end that does not exist; the largest `mu` first. */
export function muRows({ document, rows }: OutputDocument) {
  const { mu, mu_dates, window } = document;
  return rows
    .filter(({ ticker }) => Object.hasOwn(mu, ticker))
    .map(({ ticker, lower, upper }) => ({
      ticker,
      date: mu_dates?.[ticker] ?? window.as_of,
      mu: mu[ticker]!,
      lower: lower.at(-1)!,
      upper: upper.at(-1)!,
    }))
    .sort((a, b) => b.mu - a.mu);
}

function muCsv(rows: readonly MuRow[]): string {
  const number = (value: number) => (Number.isNaN(value) ? "" : `${value}`);
  const line = ({ ticker, date, mu, lower, upper }: MuRow) =>
    [csvCell(ticker), date, ...[mu, lower, upper].map(number)].join(",");
  return `${["ticker,date,mu,lower,upper", ...rows.map(line)].join("\n")}\n`;
}

export function muTable(rows: readonly MuRow[]): string {
  const half = TICKERS_SHOWN / 2;
  const percent = (value: number) => (Number.isNaN(value) ? "-" : `${(100 * value).toFixed(3)} %`);
  const cells = rows.map(({ ticker, mu, lower, upper }) => [
    printable(ticker),
    ...[mu, lower, upper].map(percent),
  ]);
  const left = rows.length - TICKERS_SHOWN;
  const shown =
    left <= 0
      ? cells
      : [...cells.slice(0, half), [`… ${left} more in mu.csv`, "", "", ""], ...cells.slice(-half)];
  return table(["ticker", "mu", "lower", "upper"], shown);
}

function nextSteps({ document: { verdict, window, metrics } }: OutputDocument): string {
  const later = laterFigures(
    (verdict?.rows === "out_of_fold" ? metrics.out_of_fold : metrics.score)?.by_delay,
  );
  const backtest =
    window.learning_end === null
      ? " With --learning-end some years back, it shows what forecasts after that date were worth."
      : " Without --learning-end, the models learn from all dates, as a daily run should.";
  return `Next: ${nextStep(verdict, later)}${backtest}`;
}
