import { type Command, Option } from "commander";
import { blobLimits } from "../contract/blob-limits.ts";
import { COMPRESSIONS, DATE_FORMATS, INPUT_FORMATS } from "../contract/config/input-formats.ts";
import { counted, printable } from "../contract/errors/wording.ts";
import type { PreparedBlobs, PrepareOptions, PrepareRequest } from "../prepare/prepare-prices.ts";
import { addRequiredOption } from "./arguments/required-option.ts";
import { Reporter } from "./terminal/reporter.ts";
import { untilSignal } from "./terminal/signals.ts";

interface PrepareFlags extends Omit<PrepareOptions, "tickers"> {
  readonly prices: string;
  readonly out: string;
  readonly features?: string;
  readonly tickers?: string;
  readonly json?: boolean;
}

export function addPrepare(program: Command): void {
  const command = program
    .command("prepare")
    .description("turn prices into the two input blobs, with features");
  addRequiredOption(
    command,
    "--prices <file>",
    "prices as CSV(.gz) or Parquet, with one column per ticker or one row per (date, ticker)",
  );
  addRequiredOption(command, "--out <dir>", "folder; the two blobs go to its data/")
    .option("--features <file>", "features of your own, with one row per (date, ticker)")
    .option("--only-features", "with --features: leave out the features that prepare computes")
    .option("--id <id>", "part of the blobs' names (default: a digest)")
    .option("--start <date>", "first date, YYYY-MM-DD")
    .option("--end <date>", "last date, YYYY-MM-DD")
    .option("--learning-end <date>", "last date to learn from")
    .option("--tickers <list>", "comma-separated (default: all)")
    .option("--ticker <name>", "the security of a file without tickers")
    .option("--time-zone <name>", "zone of times, such as Europe/Berlin")
    .addOption(dateFormatOption())
    .addOption(new Option("--format <name>", "format of the blobs").choices(INPUT_FORMATS).default("json"))
    .addOption(
      new Option("--compression <name>", "compression of Parquet (default: snappy)").choices(COMPRESSIONS),
    )
    .option("--json", "print JSON on a terminal too")
    .option("--float32", "write features to Parquet as float32")
    .addHelpText(
      "after",
      "\nExample:\n  mucast prepare --prices prices.csv --out blobs --learning-end 2020-12-31\n" +
        "  mucast prepare --prices prices.parquet --features signals.csv --format parquet --out blobs\n\n" +
        "stdout carries a JSON object with the two paths and a summary, or a few lines if it is a terminal.\n" +
        "docs/prepare.md lists the features.",
    )
    .action(async ({ prices, features, out, tickers, json, ...options }: PrepareFlags) => {
      const { finish, ...following } = follow(process.stderr, json === true);
      const { preparePrices } = await import("../prepare/prepare-prices.ts");
      const prepared = await untilSignal((signal) =>
        preparePrices({
          csvPath: prices,
          featuresPath: features,
          outFolder: out,
          options: { ...options, tickers: tickers?.split(",").map((ticker) => ticker.trim()) },
          ...following,
          signal,
          limits: { tickers: blobLimits(process.env).tickers },
        }),
      ).finally(finish);
      const isText = process.stdout.isTTY === true && json !== true;
      const text = isText ? preparedText(prepared) : `${JSON.stringify(asRecord(prepared), null, 2)}\n`;
      process.stdout.write(text);
    });
}

export function dateFormatOption(): Option {
  return new Option("--date-format <name>", "of dates such as 3/4/2020").choices(DATE_FORMATS);
}

/** Writes sentences to stderr and, on a terminal, a bar. */
export function follow(
  stream: ConstructorParameters<typeof Reporter>[0]["stream"],
  isJson: boolean,
): Required<Pick<PrepareRequest, "report" | "onProgress">> & { finish: () => void } {
  const hasBar = stream.isTTY === true && !isJson;
  const reporter = new Reporter({ format: "text", quiet: !hasBar, stream });
  const started = performance.now();
  return {
    report: (sentence) => reporter.write({}, sentence),
    onProgress: (progress) => {
      if (performance.now() - started >= 2_000) reporter.report({ kind: "progress", ...progress });
    },
    finish: () => reporter.finish(),
  };
}

export function preparedText(prepared: PreparedBlobs): string {
  const { featurePath, dataExtractorPath, tickers, dates, start, end, features, written } = prepared;
  const cut = prepared.learningEnd === undefined ? "" : `, learning ends ${prepared.learningEnd}`;
  return [
    `${counted(tickers.length, "ticker")}, ${counted(dates, "date")} from ${start} to ${end}${cut}, ${counted(features.length, "feature")}`,
    `feature_url         ${printable(featurePath)}`,
    `data_extractor_url  ${printable(dataExtractorPath)}`,
    ...(written ? [] : ["Both blobs existed already, with the same bytes."]),
    "",
  ].join("\n");
}

function asRecord({ id, featurePath, dataExtractorPath, learningEnd, ...others }: PreparedBlobs): object {
  return {
    id,
    feature_url: featurePath,
    data_extractor_url: dataExtractorPath,
    ...others,
    learning_end: learningEnd ?? null,
  };
}
