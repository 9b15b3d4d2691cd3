import { fileURLToPath } from "node:url";
import { lockedPython } from "../scripts/locked-python.ts";

/** One table of results. */
export interface Table {
  readonly title: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The smallest value that is not below a share of all: of 100 values, `quantile(values, 0.99)` is the 99th. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
}

/** An error that stops a bench and that one line explains, such as invalid arguments; printed without a stack trace. */
export class BenchError extends Error {
  override readonly name = "BenchError";
}

/** Python of an environment with one peer, from `bench/peers/requirements-<peer>.txt`. */
export function peerPython(peer: string): string {
  const lock = fileURLToPath(new URL(`./peers/requirements-${peer}.txt`, import.meta.url));
  return lockedPython(`bench-${peer}`, lock);
}
