import { type Command, Option } from "commander";
import { blobLimits } from "../contract/blob-limits.ts";
import { COMPRESSIONS, INPUT_FORMATS } from "../contract/config/input-formats.ts";
import { counted, printable } from "../contract/errors/wording.ts";
import {
  type PreparedBlobs,
  type PrepareOptions,
  type PrepareRequest,
  preparePrices,
} from "../prepare/prepare-prices.ts";
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
    .description(
      "turn prices into the two input blobs, with a documented set of features and with features of your own",
    );
  addRequiredOption(
    command,
    "--prices <file>",
    "prices as CSV or Parquet, with one column per ticker or one row per (date, ticker); a CSV may be gzipped (.gz)",
  );
  addRequiredOption(command, "--out <dir>", "folder; the two blobs go to its data/")
    .option(
      "--features <file>",
      "features of your own as CSV or Parquet, with one row per (date, ticker) and one column per feature",
    )
    .option("--only-features", "with --features: leave out the features that prepare computes")
    .option("--id <id>", "id in the names of the blobs (default: a digest of their content)")
    .option("--start <date>", "first date, YYYY-MM-DD")
    .option("--end <date>", "last date, YYYY-MM-DD")
    .option("--learning-end <date>", "last date whose labels a job may learn from")
    .option("--tickers <list>", "comma-separated tickers (default: all)")
    .option("--ticker <name>", "the security of a file without tickers")
    .option("--time-zone <name>", "time zone of stamps with a time, such as Europe/Berlin")
    .addOption(new Option("--format <name>", "format of the blobs").choices(INPUT_FORMATS).default("json"))
    .addOption(
      new Option("--compression <name>", "compression of Parquet (default: snappy)").choices(COMPRESSIONS),
    )
    .option("--json", "print JSON on a terminal too")
    .option("--float32", "write features to Parquet as float32, with about 7 digits; prices stay float64")
    .addHelpText(
      "after",
      "\nExample:\n  mucast prepare --prices prices.csv --out blobs --learning-end 2020-12-31\n" +
        "  mucast prepare --prices prices.parquet --features signals.csv --format parquet --out blobs\n\n" +
        "stdout carries a JSON object with the two paths and a summary, or a few lines if it is a terminal.\n" +
        "docs/prepare.md lists the features.",
    )
    .action(async ({ prices, features, out, tickers, json, ...options }: PrepareFlags) => {
      const chosen = tickers?.split(",").map((ticker) => ticker.trim());
      const { finish, ...following } = follow(process.stderr, json === true);
      const prepared = await untilSignal((signal) =>
        preparePrices({
          csvPath: prices,
          featuresPath: features,
          outFolder: out,
          options: { ...options, tickers: chosen },
          ...following,
          signal,
          limits: { tickers: blobLimits(process.env).tickers },
        }),
      ).finally(finish);
      const isText = process.stdout.isTTY === true && json !== true;
      process.stdout.write(
        isText ? preparedText(prepared) : `${JSON.stringify(asRecord(prepared), null, 2)}\n`,
      );
    });
}

const QUIET_MS = 2_000;

/**
 * Writes sentences to stderr and, on a terminal, a bar.
 */
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
      if (performance.now() - started >= QUIET_MS) reporter.report({ kind: "progress", ...progress });
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

function asRecord({ featurePath, dataExtractorPath, learningEnd, ...rest }: PreparedBlobs): object {
  const { id, ...others } = rest;
  return {
    id,
    feature_url: featurePath,
    data_extractor_url: dataExtractorPath,
    ...others,
    learning_end: learningEnd ?? null,
  };
}
