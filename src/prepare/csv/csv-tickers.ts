import { BLOB_BOUNDS, NAME_BYTES } from "../../contract/blob-limits.ts";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";

/** What a long or wide CSV has of each ticker, in the order in which they first appear. */
export class CsvTickers<Cells> {
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

  checkCount(count: number, line: number): void {
    if (count <= this.#most) return;
    const { env } = BLOB_BOUNDS.tickers;
    const what = `line ${line} makes ${counted(count, "ticker")}, and ${this.#most} are allowed (${env})`;
    throw this.#fault("too_large", what, { line, limit: this.#most });
  }

  #fault(code: ErrorCode, what: string, data: { readonly line: number; readonly limit?: number }) {
    return new MucastError(code, `${this.#path}: ${what}`, { source: this.#path, ...data });
  }
}
