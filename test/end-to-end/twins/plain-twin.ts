/** Runs the plain Python twin, and compares its results with a job's output. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { findEnvironment } from "../../../src/engine/environment/environment.ts";
import { type BlobPair, newFolder } from "../jobs/job-runs.ts";

export interface TwinWarning {
  readonly code: string;
  readonly ticker?: string;
  readonly count?: number;
  /** The feature that `empty_feature` names. */
  readonly feature?: string;
  /** The features that cost most rows; more than one if they cost the same. */
  readonly features?: readonly string[];
  /** The bound of the window that was filled in. */
  readonly bound?: string;
  /** The entries in the list of a warning about several tickers; at most 20 are listed. */
  readonly names?: readonly string[];
}

export interface TwinResult
  extends Pick<OutputBlob, "window" | "mu" | "mu_dates" | "forecasts" | "fits" | "cross_validation"> {
  readonly metrics: OutputBlob["metrics"];
  /** Without sentences and intervals. */
  readonly verdict: unknown;
  readonly warnings: readonly TwinWarning[];
  readonly failures: readonly { readonly ticker: string; readonly code: string }[];
}

const run = promisify(execFile);

/** One array of results per pair of blobs, one result per config (JSON text). */
export async function plainResults(
  requests: readonly { readonly blobs: BlobPair; readonly configs: readonly string[] }[],
): Promise<TwinResult[][]> {
  const entries = requests.map(({ blobs: { features, prices }, configs }) => ({ features, prices, configs }));
  return askTwin("plain_job.py", findEnvironment().python, entries);
}

/** The answer of a script beside this file to a request: JSON on both sides. */
export async function askTwin<T>(script: string, python: string, request: unknown): Promise<T> {
  const file = join(await newFolder(), "request.json");
  await writeFile(file, JSON.stringify(request));
  const twin = fileURLToPath(new URL(script, import.meta.url));
  const { stdout } = await run(python, [twin, file], { maxBuffer: 2 ** 28 });
  return JSON.parse(stdout);
}

/** Members in the order of their text, even if a name looks like an index. */
export function keyOrder(text: string, name: string): string[] {
  const at = text.indexOf(`"${name}":{`);
  assert.ok(at >= 0, `the output has ${name}`);
  const keys: string[] = [];
  let depth = 0;
  for (const [token] of text.slice(at + name.length + 3).matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (token.startsWith('"') && depth === 1) keys.push(JSON.parse(token));
    if (depth === 0) break;
  }
  return keys;
}

const METRIC_TOLERANCE = 1e-9;

/**
 * Asserts that a job's output matches the twin.
 * @param tolerance largest absolute difference between two forecasts, log-return.
 * @returns the largest difference found between two forecasts.
 */
export function assertSameAsTwin(output: OutputBlob, twin: TwinResult, tolerance: number): number {
  assert.deepEqual(output.window, twin.window);
  assert.deepEqual(
    output.failures.map(({ ticker, code }) => ({ ticker, code })),
    twin.failures,
  );
  let largest = 0;
  const see = (difference: number) => {
    largest = Math.max(largest, difference);
  };
  assertClose(output.mu, twin.mu, tolerance, "mu", see);
  assert.deepEqual(output.mu_dates, twin.mu_dates);
  assertClose(output.fits, twin.fits, METRIC_TOLERANCE, "fits");
  assertClose(output.forecasts, twin.forecasts, tolerance, "forecasts", see);
  const folds = (of: OutputBlob["cross_validation"]) =>
    Object.fromEntries(
      Object.entries(of!).map(([ticker, { dates, predicted, realised }]) => [
        ticker,
        { dates, predicted, realised },
      ]),
    );
  assertClose(
    folds(output.cross_validation),
    folds(twin.cross_validation),
    tolerance,
    "cross_validation",
    see,
  );
  assertClose(output.cross_validation, twin.cross_validation, METRIC_TOLERANCE, "cross_validation");
  const { intervals, ...tables } = output.metrics;
  const { intervals: twinIntervals, ...twinTables } = twin.metrics;
  assertClose(tables, twinTables, METRIC_TOLERANCE, "metrics");
  assertClose(intervals, twinIntervals, METRIC_TOLERANCE, "metrics.intervals");
  assertClose(withoutSentences(output.verdict), twin.verdict, METRIC_TOLERANCE, "verdict");
  assertSameWarnings(output, twin);
  return largest;
}

function withoutSentences(verdict: OutputBlob["verdict"]): unknown {
  if (verdict === undefined) return null;
  const { state, rows, judged } = verdict;
  const numbers = ({ sentence: _, ...finding }: object & { readonly sentence: string }) => finding;
  return {
    state,
    rows,
    judged: judged.map((set) => ({ rows: set.rows, order: numbers(set.order), sizes: numbers(set.sizes) })),
  };
}

/** Asserts that both report the same about the same tickers, whatever the wording. */
export function assertSameWarnings(
  output: Pick<OutputBlob, "warnings">,
  twin: Pick<TwinResult, "warnings">,
): void {
  const short = ({ code, ticker }: { code: string; ticker?: string | undefined }) =>
    `${code} ${ticker ?? ""}`;
  // One warning may be about several features, or about both bounds of the window.
  const codes = (of: readonly { code: string; ticker?: string | undefined }[]) =>
    [...new Set(of.map(short))].sort();
  assert.deepEqual(codes(output.warnings), codes(twin.warnings));
  for (const { code, ticker, count, feature, features, bound, names = [] } of twin.warnings) {
    const found = output.warnings.filter((warning) => warning.code === code && warning.ticker === ticker);
    if (count !== undefined) assert.deepEqual([found[0]!.count, ticker], [count, ticker], code);
    const named = [feature, bound, ...names.slice(0, 20)].filter((name) => name !== undefined);
    for (const name of named) {
      assert.ok(
        found.some(({ message }) => message.includes(name)),
        `${code} of ${ticker} names ${name}`,
      );
    }
    if (features !== undefined) {
      assert.ok(
        features.some((name) => found[0]!.message.includes(name)),
        `${code} of ${ticker} names one of ${features}: ${found[0]!.message}`,
      );
    }
  }
}

/** Same structure, same strings and nulls, numbers within `tolerance`, relative if they are larger than 1. */
export function assertClose(
  actual: unknown,
  expected: unknown,
  tolerance: number,
  place: string,
  see: (difference: number) => void = () => undefined,
): void {
  if (typeof actual === "number" && typeof expected === "number") {
    const difference = Math.abs(actual - expected) / Math.max(1, Math.abs(expected));
    assert.ok(
      difference <= tolerance,
      `${place}: ${actual} against ${expected}, ${difference} apart, more than ${tolerance}`,
    );
    see(difference);
    return;
  }
  if (typeof expected !== "object" || expected === null || typeof actual !== "object" || actual === null) {
    assert.equal(actual, expected, place);
    return;
  }
  assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort(), `members of ${place}`);
  for (const [key, member] of Object.entries(expected)) {
    assertClose((actual as Record<string, unknown>)[key], member, tolerance, `${place}.${key}`, see);
  }
}

/** Whether rows have the dates of a twin, and its forecasts within a tolerance, log-return. */
export function assertSameForecasts(
  actual: { readonly dates: readonly string[]; readonly predicted: readonly number[] },
  expected: readonly (readonly [string, number])[],
  tolerance: number,
  place: string,
): void {
  assert.deepEqual(
    actual.dates,
    expected.map(([date]) => date),
    place,
  );
  for (const [i, [date, value]] of expected.entries()) {
    const difference = Math.abs(actual.predicted[i]! - value);
    assert.ok(difference <= tolerance, `${place} on ${date}: ${actual.predicted[i]} against ${value}`);
  }
}
