import type { Command } from "commander";
import { blobLimits } from "../contract/blob-limits.ts";
import { type PreparedBlobs, type PrepareOptions, preparePrices } from "../prepare/prepare-prices.ts";
import { untilSignal } from "./terminal/signals.ts";

interface PrepareFlags extends Omit<PrepareOptions, "tickers"> {
  readonly prices: string;
  readonly out: string;
  readonly tickers?: string;
}

export function addPrepare(program: Command): void {
  program
    .command("prepare")
    .description(
      "turn a price CSV, wide or long, into the two input blobs, with a documented set of features",
    )
    .requiredOption("--prices <csv>", "prices, one column a ticker or one row a (date, ticker); .gz is fine")
    .requiredOption("--out <dir>", "folder whose data/ takes the two blobs")
    .option("--id <id>", "names the blobs; by default a digest of their content")
    .option("--start <date>", "first date, YYYY-MM-DD")
    .option("--end <date>", "last date, YYYY-MM-DD")
    .option("--learning-end <date>", "last date whose labels may be learned")
    .option("--tickers <list>", "only these, parted by commas")
    .addHelpText(
      "after",
      "\nExample:\n  mucast prepare --prices prices.csv --out blobs --learning-end 2020-12-31\n\n" +
        "stdout carries the two paths and what was understood, as one JSON object. docs/prepare.md lists the features.",
    )
    .action(async ({ prices, out, tickers, ...options }: PrepareFlags) => {
      const chosen = tickers?.split(",").map((ticker) => ticker.trim());
      const prepared = await untilSignal((signal) =>
        preparePrices({
          csvPath: prices,
          outFolder: out,
          options: { ...options, tickers: chosen },
          report: (sentence) => process.stderr.write(`${sentence}\n`),
          signal,
          limits: { tickers: blobLimits(process.env).tickers },
        }),
      );
      process.stdout.write(`${JSON.stringify(asRecord(prepared), null, 2)}\n`);
    });
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
