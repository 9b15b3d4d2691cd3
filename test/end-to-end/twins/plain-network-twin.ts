/** Compares outputs of run_dl_job with its plain Python twin. */
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { findEnvironment } from "../../../src/engine/environment/environment.ts";
import { posteriorSlope } from "../../../src/evaluate/shrinkage.ts";
import { type BlobPair, type JobRun, unjudged } from "../jobs/job-runs.ts";
import { askTwin, assertClose, assertSameWarnings, type TwinResult, type TwinWarning } from "./plain-twin.ts";

interface ZeroLosses {
  /** For the second epoch, in which a batch contains every sample. */
  readonly train_loss: number;
  /** For every epoch; null if no label validates. */
  readonly validation_loss: number | null;
  /** null if the contract leaves the layers open. */
  readonly parameters: number | null;
}

export interface NetworkTwin
  extends Pick<TwinResult, "window" | "mu" | "mu_dates" | "forecasts" | "fits" | "metrics" | "failures"> {
  readonly training: Readonly<Record<string, ZeroLosses>>;
  /** By ticker, the number of rows by which its forecasts are judged. */
  readonly held_out: Readonly<Record<string, number>>;
  readonly warnings: readonly TwinWarning[];
}

export interface JudgedRun {
  readonly blobs: BlobPair;
  readonly config: string;
  readonly run: JobRun;
  /** Whether training left every weight at about 0. */
  readonly vanishing: boolean;
}

/** The twin's results for each run. */
export async function judgedByTwin(runs: readonly JudgedRun[]): Promise<NetworkTwin[]> {
  const request = runs.map(({ blobs: { features, prices }, config, run, vanishing }) => {
    const output = join(dirname(features), `nn_engine_${run.output.id}.json`);
    return { features, prices, runs: [{ config, output, vanishing }] };
  });
  const answers = await askTwin<NetworkTwin[][]>(
    "plain_network_job.py",
    findEnvironment("dl").python,
    request,
  );
  return answers.map(([only]) => only!);
}

/** Metrics are computed from the very forecasts in the output. */
const METRIC_TOLERANCE = 1e-9;
/** A vanished network forecasts less than this, log-return; its losses are off by about as much. */
export const VANISHED = 2e-5;

/** Asserts that an output matches the twin: everything except the forecasts themselves. */
export function assertJudgedRight({ run, vanishing }: JudgedRun, twin: NetworkTwin): void {
  const { output } = run;
  assert.deepEqual(output.window, twin.window);
  assert.deepEqual(
    output.failures.map(({ ticker, code }) => ({ ticker, code })),
    twin.failures,
  );
  assertClose(output.mu, twin.mu, 0, "mu");
  assert.deepEqual(output.mu_dates, twin.mu_dates);
  assertClose(output.fits, twin.fits, METRIC_TOLERANCE, "fits");
  assertClose(output.forecasts, twin.forecasts, vanishing ? VANISHED : 1e-12, "forecasts");
  assertSameMetrics(output, twin, vanishing);
  assertSameTraining(output, twin, vanishing);
  assertSameWarnings(toldOfTrained(output), twin);
}

function assertSameMetrics(output: OutputBlob, twin: NetworkTwin, vanishing: boolean): void {
  const { intervals, shrinkage, ...tables } = output.metrics;
  const { intervals: twinIntervals, ...twinTables } = twin.metrics;
  assertClose(tables, twinTables, METRIC_TOLERANCE, "metrics");
  assertPossibleShrinkage(shrinkage!, twin.held_out);
  if (vanishing) assertClose(intervals, twinIntervals, 1e-3, "metrics.intervals");
  else assertClose(withoutResiduals(intervals), twinIntervals, METRIC_TOLERANCE, "metrics.intervals");
}

/** The forecasts that the slopes are computed from are not in the output; only their number is known. */
function assertPossibleShrinkage(
  { pooled, by_date, by_ticker }: NonNullable<OutputBlob["metrics"]["shrinkage"]>,
  heldOut: NetworkTwin["held_out"],
): void {
  const counts = Object.entries(by_ticker).map(([ticker, { n }]) => [ticker, n]);
  assert.deepEqual(Object.fromEntries(counts), heldOut);
  assert.equal(
    pooled.n,
    Object.values(heldOut).reduce((sum, n) => sum + n, 0),
  );
  assert.equal(by_date!.n, pooled.n);
  for (const { b, se, s } of [pooled, ...Object.values(by_ticker)]) {
    assert.equal(s, b === null ? 0 : Math.max(0, Math.min(1, b - se!)));
  }
  const { b, se, s } = by_date!;
  assert.equal(s, b === null ? 0 : posteriorSlope(b, se ?? 0));
}

/** What is known without the forecasts of the residuals. */
function withoutResiduals(intervals: OutputBlob["metrics"]["intervals"]): unknown {
  if (intervals === null) return null;
  const { other_methods: _, pooled, by_ticker, ...rest } = intervals;
  const known = ({ prequential: _, ...evidence }: typeof pooled) => evidence;
  const tickers = Object.entries(by_ticker).map(([ticker, evidence]) => [ticker, known(evidence)]);
  return { ...rest, pooled: known(pooled), by_ticker: Object.fromEntries(tickers) };
}

function assertSameTraining(output: OutputBlob, twin: NetworkTwin, vanishing: boolean): void {
  assert.deepEqual(Object.keys(output.training!).sort(), Object.keys(twin.training).sort());
  for (const [name, { epochs, parameters, zero_validation_loss }] of Object.entries(output.training!)) {
    const known = twin.training[name]!;
    assertClose(zero_validation_loss, known.validation_loss, VANISHED, `zero_validation_loss of ${name}`);
    if (known.parameters !== null) assert.equal(parameters, known.parameters, `parameters of ${name}`);
    if (!vanishing) continue;
    assertClose(epochs[1]!.train_loss, known.train_loss, VANISHED, `train_loss of ${name}`);
    for (const { validation_loss } of epochs) {
      assertClose(validation_loss, known.validation_loss, VANISHED, `validation_loss of ${name}`);
    }
  }
}

/** The warnings except those of failed tickers, and of forecasts, which are constant because all weights are 0. */
function toldOfTrained({ warnings, failures }: OutputBlob): Pick<OutputBlob, "warnings"> {
  const failed = new Set(failures.map(({ ticker }) => ticker));
  return {
    warnings: unjudged(warnings).filter(
      ({ code, ticker }) => code !== "constant_predictions" && (ticker === undefined || !failed.has(ticker)),
    ),
  };
}

/** Asserts what early stopping must leave: the first lowest validation loss, and `patience` epochs after it. */
export function assertStoppedRight({ output }: JobRun, epochs: number, patience: number): void {
  for (const [name, { epochs: run, best_epoch }] of Object.entries(output.training!)) {
    const losses = run.map(({ validation_loss }) => validation_loss);
    assert.equal(best_epoch, losses.indexOf(Math.min(...losses)) + 1, `best epoch of ${name}: ${losses}`);
    assert.equal(run.length, Math.min(epochs, best_epoch + patience), `epochs of ${name}: ${losses}`);
  }
}
