import type { Command } from "commander";
import { blobLimits } from "../contract/blob-limits.ts";
import { COMPRESSIONS, INPUT_FORMATS } from "../contract/config/input-formats.ts";
import { counted, printable } from "../contract/errors/wording.ts";
import type { PreparedBlobs, PrepareOptions } from "../prepare/prepare-prices.ts";
import { addCommand, type FlagsOf, PRICE_OPTIONS } from "./command.ts";
import { withReporter } from "./job-inputs.ts";
import type { Reporter } from "./terminal/reporter.ts";

export function addPrepare(program: Command): void {
  addCommand(program, "prepare", {
    about: "turn prices into the two input blobs, with features",
    options: {
      prices: [
        "--prices <file>",
        "prices as CSV(.gz) or Parquet, with one column per ticker or one row per (date, ticker)",
        { required: true },
      ],
      out: ["--out <dir>", "folder; the two blobs go to its data/", { required: true }],
      ...PRICE_OPTIONS,
      onlyFeatures: ["--only-features", "with --features: leave out the features that prepare computes"],
      id: ["--id <id>", "part of the blobs' names (default: a digest)"],
      start: ["--start <date>", "first date, YYYY-MM-DD"],
      end: ["--end <date>", "last date, YYYY-MM-DD"],
      learningEnd: ["--learning-end <date>", "last date to learn from"],
      format: ["--format <name>", "format of the blobs", { choices: INPUT_FORMATS, default: "json" }],
      compression: [
        "--compression <name>",
        "compression of Parquet (default: snappy)",
        { choices: COMPRESSIONS },
      ],
      json: ["--json", "print JSON on a terminal too"],
      float32: ["--float32", "write features to Parquet as float32"],
    },
    help: `
Example:
  mucast prepare --prices prices.csv --out blobs --learning-end 2020-12-31
  mucast prepare --prices prices.parquet --features signals.csv --format parquet --out blobs

stdout carries a JSON object with the two paths and a summary, or a few lines if it is a terminal.
docs/prepare.md lists the features.`,
    run: async ({ json, ...flags }) => {
      // A bar on a terminal, and nothing but sentences elsewhere.
      const quiet = json || !process.stderr.isTTY || undefined;
      const prepared = await withReporter({ log: "text", quiet }, {}, (reporter, { signal }) =>
        prepareFiles(flags, reporter, signal),
      );
      const isText = process.stdout.isTTY === true && !json;
      process.stdout.write(isText ? preparedText(prepared) : jsonText(prepared));
    },
  });
}

type PriceFlags = FlagsOf<typeof PRICE_OPTIONS> &
  Omit<PrepareOptions, "tickers"> & { readonly prices: string; readonly out: string };

export async function prepareFiles(
  { prices, features, out, tickers, ...options }: PriceFlags,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<PreparedBlobs> {
  const { preparePrices } = await import("../prepare/prepare-prices.ts");
  return preparePrices({
    csvPath: prices,
    featuresPath: features,
    outFolder: out,
    options: { ...options, tickers: tickers?.split(",").map((ticker) => ticker.trim()) },
    report: (sentence) => reporter.write({}, sentence),
    onProgress: (progress) => reporter.report({ kind: "progress", ...progress }),
    signal,
    limits: { tickers: blobLimits(process.env).tickers },
  });
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

function jsonText({ id, featurePath, dataExtractorPath, learningEnd, ...others }: PreparedBlobs): string {
  const urls = { id, feature_url: featurePath, data_extractor_url: dataExtractorPath };
  return `${JSON.stringify({ ...urls, ...others, learning_end: learningEnd ?? null }, null, 2)}\n`;
}
