import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { eachSeries, fileSource, readMembers, type TickerPart } from "../../outputs/read-members.ts";

/**
 * The dated parts of an output by ticker, in the order in which a job writes them. `mu_spread` is not among them: an output has it
 * only at `as_of`, so another as_of has nothing to compare it with. Neither is `mu_model`, which is the last number of `model`.
 */
export const DATED_PARTS = ["mu", "mu_dates", "forecasts", "fits", "cross_validation", "training"] as const;
export type DatedPart = (typeof DATED_PARTS)[number];

/** What an output has of one ticker in one part. */
export type OutputPart = { [P in DatedPart]: TickerPart<P> & { readonly value: ValueOf<P> } }[DatedPart];
export type ValueOf<P extends DatedPart> = NonNullable<OutputBlob[P]>[string];

/**
 * The dated parts of an output on this machine, one ticker at a time: memory grows with the largest ticker. Relies on the order in which
 * every job writes: parts as in DATED_PARTS, tickers by code point.
 */
export function outputParts(path: string, signal: AbortSignal): AsyncGenerator<OutputPart> {
  return eachSeries(fileSource(path), DATED_PARTS, signal) as AsyncGenerator<OutputPart>;
}

/** One member of an output on this machine; undefined if it has none. */
export async function outputMember<N extends keyof OutputBlob>(
  path: string,
  name: N,
  signal: AbortSignal,
): Promise<OutputBlob[N] | undefined> {
  const output = await readMembers<Partial<OutputBlob>>(fileSource(path), { [name]: true }, signal);
  return output[name];
}
