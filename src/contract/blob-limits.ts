import { MucastError } from "./errors/errors.ts";

/** Limits of an input blob that are settings: what stays in memory while the blob is read. */
export interface BlobLimits {
  readonly tickers: number;
  /** Bytes in UTF-8 of all names: each ticker, and each column name once even if tickers share it. */
  readonly nameBytes: number;
}

export const BLOB_BOUNDS = {
  tickers: { env: "MUCAST_BLOB_TICKERS", byDefault: 100_000, least: 1, most: 1_000_000 },
  nameBytes: { env: "MUCAST_BLOB_NAME_BYTES", byDefault: 2 ** 26, least: 1_024, most: 2 ** 32 },
} as const;

export const DEFAULT_BLOB_LIMITS = blobLimits({});

/** Maximum length of one name in bytes of UTF-8. */
export const NAME_BYTES = { ticker: 256, column: 1_000 } as const;

/** The limits in a job's environment. @throws MucastError invalid_request for a value that is not an integer in range. */
export function blobLimits(env: Readonly<Record<string, string | undefined>>): BlobLimits {
  const [tickers, nameBytes] = [BLOB_BOUNDS.tickers, BLOB_BOUNDS.nameBytes].map((bound) => {
    const text = env[bound.env]?.trim();
    if (!text) return bound.byDefault;
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= bound.least && number <= bound.most) return number;
    const value = text.slice(0, 100);
    const message = `${bound.env}: must be an integer from ${bound.least} to ${bound.most}, got ${JSON.stringify(value)}`;
    throw new MucastError("invalid_request", message, { path: bound.env, value });
  });
  return { tickers: tickers!, nameBytes: nameBytes! };
}

export function limitsEnv({ tickers, nameBytes }: BlobLimits): Readonly<Record<string, string>> {
  return {
    [BLOB_BOUNDS.tickers.env]: String(tickers),
    [BLOB_BOUNDS.nameBytes.env]: String(nameBytes),
  };
}
