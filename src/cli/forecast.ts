import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { replaceByStaged, stageFile } from "../blob/folder/staged-file.ts";
import { EXAMPLE_CONFIGS } from "../contract/config/example-configs.ts";
import { operationsOf } from "../contract/config/payload.ts";
import { show } from "../contract/errors/faults.ts";
import { printable } from "../contract/errors/wording.ts";
import { rawNumber, rawNumbers } from "../contract/json/json-text.ts";
import { laterFigures } from "../contract/output/later-close.ts";
import { nextStep } from "../contract/output/next-step.ts";
import { rankingOf } from "../contract/output/small-factor.ts";
import { runOperation } from "../executors/run-operation.ts";
import { csvCell } from "../export/export-forecasts.ts";
import { type OutputDocument, openDocument } from "../outputs/open-document.ts";
import { addCommand, type FlagsOf, PRICE_OPTIONS, REPORT_OPTIONS, refusal } from "./command.ts";
import { configText, jobResources, withReporter } from "./job-inputs.ts";
import { tableOf, writeJobReport } from "./output-commands.ts";
import { prepareFiles } from "./prepare.ts";
import { table } from "./terminal/output-table.ts";

/** From here on, a model that compares tickers is better than one for each (docs/skill.md). */
const PANEL_TICKERS = 50;

/** Of more tickers, those with the largest and the smallest `mu`. */
const TICKERS_SHOWN = 20;

const OPTIONS = {
  config: [
    "--config <file|name>",
    `a config, or the name of an example: ${EXAMPLE_CONFIGS.map(({ name }) => name).join(", ")} (default: pooled-lightgbm from ${PANEL_TICKERS} tickers on, otherwise ridge)`,
  ],
  out: ["--out <dir>", "folder of the blobs, the output and mu.csv", { default: "forecasts" }],
  ...PRICE_OPTIONS,
  learningEnd: ["--learning-end <date>", "last date to learn from, to judge later forecasts"],
  delay: ["--delay <n>", "closes between the forecast and the trade (default: that of the config)"],
  report: ["--report", "write an HTML report beside the output"],
  ...REPORT_OPTIONS,
} as const;

export function addForecast(program: Command): void {
  addCommand(program, "forecast", {
    about: "go from prices to mu in one command",
    argument: [
      "<prices>",
      "prices as CSV or Parquet, with one column per ticker or one row per (date, ticker)",
    ],
    options: OPTIONS,
    help: `
Examples:
  mucast forecast prices.csv --learning-end 2020-12-31 --delay 1 --report
  mucast forecast prices.parquet --config portfolio-lstm --out tomorrow

Prepares the prices, trains models, and prints the forecasts, what they are worth, and what to do next. The folder of --out then
holds the input blobs, the output, and mu.csv.`,
    run: forecast,
  });
}

async function forecast(flags: FlagsOf<typeof OPTIONS>, prices: string): Promise<void> {
  const resources = { ...jobResources(flags), cluster: undefined };
  const { config, delay, report, workers: _, log: __, quiet: ___, ...files } = flags;
  const chosen = config === undefined ? undefined : await configText(config);
  await withReporter(flags, {}, async (reporter, running) => {
    const { signal } = running;
    const prepared = await prepareFiles({ ...files, prices }, reporter, signal);
    reporter.finish();
    const isPanel = prepared.tickers.length >= PANEL_TICKERS;
    const text = withDelay(chosen ?? (await configText(isPanel ? "pooled-lightgbm" : "ridge")), delay);
    const policy = { allowed: [] };
    const request = {
      featureUrl: prepared.featurePath,
      dataExtractorUrl: prepared.dataExtractorPath,
      config: text,
      id: randomUUID(),
    };
    const operation = operationsOf(text)[0] ?? "run_ml_job";
    const context = { ...resources, ...running, policy };
    const { output_url } = await runOperation({ operation, options: {} }, request, context);
    reporter.finish();
    const output = fileURLToPath(output_url);
    const document = await openDocument(output, { policy, signal });
    const rows = muRows(document);
    const muPath = join(dirname(output), "mu.csv");
    await replaceByStaged(await stageFile(dirname(muPath), "mu.csv", muCsv(rows), { signal, shown: muPath }));
    process.stdout.write(`${muTable(rows)}\n\n${await tableOf([output], { policy, signal })}\n`);
    process.stdout.write(`${nextSteps(document)}\n\nmu:      ${muPath}\noutput:  ${output}\n`);
    if (report) await writeJobReport(output_url, { policy, signal }, reporter);
  });
}

/** The config with the delay of the flag, and every number as the caller wrote it. */
function withDelay(text: string, delay: string | undefined): string {
  if (delay === undefined) return text;
  if (!/^\d{1,9}$/.test(delay)) {
    throw refusal("--delay", `must be a number of closes, got ${show(delay)}`);
  }
  const config = rawNumbers(text) as { [section: string]: Record<string, unknown> };
  const networks = config["NN params"]?.["Dot prediction"] as Record<string, unknown> | undefined;
  const settings = config["ML params"] ?? networks;
  if (settings !== undefined) settings.delay = rawNumber(delay);
  return JSON.stringify(config);
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
  const lines = rows.map(({ ticker, date, mu, lower, upper }) => {
    const numbers = [mu, lower, upper].map((value) => (Number.isNaN(value) ? "" : String(value)));
    return [csvCell(ticker), date, ...numbers].join(",");
  });
  return `${["ticker,date,mu,lower,upper", ...lines].join("\n")}\n`;
}

export function muTable(rows: readonly MuRow[]): string {
  const percent = (value: number) => (Number.isNaN(value) ? "-" : `${(100 * value).toFixed(3)} %`);
  const cells = rows.map(({ ticker, mu, lower, upper }) => [
    printable(ticker),
    ...[mu, lower, upper].map(percent),
  ]);
  const left = rows.length - TICKERS_SHOWN;
  const half = TICKERS_SHOWN / 2;
  if (left > 0) cells.splice(half, left, [`… ${left} more in mu.csv`, "", "", ""]);
  return table(["ticker", "mu", "lower", "upper"], cells);
}

function nextSteps({ document: { verdict, window, metrics, mu_model } }: OutputDocument): string {
  const { by_delay } = (verdict?.rows === "out_of_fold" ? metrics.out_of_fold : metrics.score) ?? {};
  const backtest =
    window.learning_end === null
      ? " With --learning-end some years back, it shows what forecasts after that date were worth."
      : " Without --learning-end, the models learn from all dates, as a daily run should.";
  const ranking = rankingOf(Object.values(metrics.shrinkage?.applied ?? {}), mu_model !== undefined);
  return `Next: ${nextStep(verdict, laterFigures(by_delay), ranking)}${backtest}`;
}
