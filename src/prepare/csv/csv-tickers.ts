import { BLOB_BOUNDS, NAME_BYTES } from "../../contract/blob-limits.ts";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { formatDay } from "../../contract/market/dates.ts";

/** The rows of a ticker as they follow each other: the token of each date, and its line. */
interface TickerRows {
  readonly dates: number[];
  readonly lines: number[];
}

/** What a long or wide CSV has of each ticker, in the order in which they first appear. */
export class CsvTickers<Cells extends TickerRows> {
  readonly cells = new Map<string, Cells>();
  readonly #path: string;
  readonly #most: number;
  readonly #create: () => Cells;

  constructor(path: string, most: number, create: () => Cells) {
    this.#path = path;
    this.#most = most;
    this.#create = create;
  }

  of(ticker: string, line: number): Cells {
    const known = this.cells.get(ticker);
    if (known !== undefined) return known;
    if (ticker === "") throw this.#fault("invalid_data", `line ${line} has no ticker`, { line });
    if (Buffer.byteLength(ticker) > NAME_BYTES.ticker) {
      const what = `line ${line} names a ticker of more than ${NAME_BYTES.ticker} bytes`;
      throw this.#fault("too_large", what, { line });
    }
    this.checkCount(this.cells.size + 1, line);
    const cells = this.#create();
    this.cells.set(ticker, cells);
    return cells;
  }

  /**
   * The indices of a ticker's rows by date.
   * @param dayOf each token of a date.
   * @throws MucastError invalid_data for a second row of a date.
   */
  byDay(ticker: string, dayOf: readonly number[], what: "price" | "row"): number[] {
    const { dates, lines } = this.cells.get(ticker)!;
    const day = (i: number) => dayOf[dates[i]!]!;
    const order = dates.map((_, i) => i).sort((a, b) => day(a) - day(b) || a - b);
    const k = order.findIndex((i, k) => k > 0 && day(i) === day(order[k - 1]!));
    if (k < 0) return order;
    const [first, line] = [lines[order[k - 1]!]!, lines[order[k]!]!];
    const twice = `line ${line} gives ${ticker} a second ${what} for ${formatDay(day(order[k]!))}, after line ${first}`;
    throw this.#fault("invalid_data", `${twice}; keep the last of each day`, { line, ticker });
  }

  checkCount(count: number, line: number): void {
    if (count <= this.#most) return;
    const { env } = BLOB_BOUNDS.tickers;
    const what = `line ${line} makes ${counted(count, "ticker")}, and ${this.#most} are allowed (${env})`;
    throw this.#fault("too_large", what, { line, limit: this.#most });
  }

  #fault(code: ErrorCode, what: string, data: { line: number; limit?: number; ticker?: string }) {
    return new MucastError(code, `${this.#path}: ${what}`, { source: this.#path, ...data });
  }
}
