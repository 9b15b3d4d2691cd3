import { rm } from "node:fs/promises";
import { join } from "node:path";
import { writeOutput } from "../../blob/folder/output-folder.ts";
import { type Day, formatDay, parseDay } from "../../contract/market/dates.ts";
import type { TickerPrices } from "../../contract/market/ticker-series.ts";
import { unionOfDays } from "../../prepare/features/feature-set.ts";
import {
  type PreparedBlobs,
  type PrepareOptions,
  type PrepareRequest,
  preparePrices,
} from "../../prepare/prepare-prices.ts";
import { readPriceFile } from "../../prepare/price-file.ts";
import { tickersOf } from "../../prepare/selection.ts";
import { type CutPlan, planCuts } from "../job/cut-blobs.ts";

/** A price CSV of an audit, with the flags of `mucast prepare`. */
export interface AuditedCsv {
  readonly csvPath: string;
  readonly options: Omit<PrepareOptions, "id">;
}

export type Prepare = (request: PrepareRequest) => Promise<PreparedBlobs>;

/** The blobs prepared from a CSV, whole and cut after earlier dates. */
export class PreparedPrices {
  readonly #csv: AuditedCsv;
  readonly #folder: string;
  readonly #signal: AbortSignal;
  readonly #prepare: Prepare;
  #whole: Promise<PreparedBlobs> | undefined;

  /**
   * @param folder an existing private one for the blobs.
   * @param prepare the function under test; a faulty one is for tests.
   */
  constructor(csv: AuditedCsv, folder: string, signal: AbortSignal, prepare: Prepare = preparePrices) {
    this.#csv = csv;
    this.#folder = folder;
    this.#signal = signal;
    this.#prepare = prepare;
  }

  /** The blobs of the whole CSV, prepared once. @throws MucastError of `preparePrices`. */
  whole(): Promise<PreparedBlobs> {
    const { csvPath, options } = this.#csv;
    this.#whole ??= this.#prepared(csvPath, "prepared", options);
    return this.#whole;
  }

  /** The prices of the CSV. @throws MucastError of `readPriceFile`. */
  async read(): Promise<readonly TickerPrices[]> {
    return (await readPriceFile(this.#csv.csvPath, this.#signal)).tickers;
  }

  /** The dates of the window, over the tickers that are prepared, after which the CSV is cut; undefined if there are too few. */
  async plan(prices: readonly TickerPrices[], truncations: number): Promise<CutPlan | undefined> {
    const whole = await this.whole();
    const [start, end] = [parseDay(whole.start)!, parseDay(whole.end)!];
    const days = unionOfDays(tickersOf(this.#csv.options.tickers, prices));
    const dates = days.filter((day) => day >= start && day <= end);
    return planCuts(
      dates,
      whole.learningEnd === undefined ? undefined : parseDay(whole.learningEnd),
      truncations,
    );
  }

  /**
   * Prepares the prices up to `day`, with the window of the whole CSV, and removes the blobs after `use`.
   * @throws MucastError of `preparePrices`; what `use` throws.
   */
  async withCut(
    day: Day,
    prices: readonly TickerPrices[],
    use: (blobs: PreparedBlobs) => Promise<void>,
  ): Promise<void> {
    const { start, end, learningEnd } = await this.whole();
    const name = `prepared-${formatDay(day)}`;
    const folder = join(this.#folder, name);
    try {
      const url = await writeOutput(folder, "prices.csv", csvText(prices, day), { signal: this.#signal });
      const { tickers } = this.#csv.options;
      const there = prices.filter(({ days }) => days[0]! <= day).map(({ ticker }) => ticker);
      const chosen = tickers?.filter((ticker) => there.includes(ticker));
      await use(await this.#prepared(url, name, { start, end, learningEnd, tickers: chosen }));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  #prepared(csvPath: string, name: string, options: AuditedCsv["options"]): Promise<PreparedBlobs> {
    const outFolder = join(this.#folder, name);
    return this.#prepare({ csvPath, outFolder, options, signal: this.#signal });
  }
}

/** One row per ticker and date, up to `until`; every price reads back as the same float64. */
function* csvText(prices: readonly TickerPrices[], until: Day): Generator<string> {
  yield "date,ticker,price\n";
  for (const { ticker, days, prices: own } of prices) {
    const name = `"${ticker.replaceAll('"', '""')}"`;
    const rows: string[] = [];
    for (const [i, day] of days.entries())
      if (day <= until) rows.push(`${formatDay(day)},${name},${own[i]!}\n`);
    yield rows.join("");
  }
}
