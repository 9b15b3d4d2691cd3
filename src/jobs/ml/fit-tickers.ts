import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";
import { runEach } from "../shared/run-concurrently.ts";
import { type FitOptions, fitTicker } from "./fit-ticker.ts";
import type { FittedTicker } from "./fitted-ticker.ts";
import { planFits, refusedColumns } from "./plan-fits.ts";

export interface FitOutcome {
  readonly fitted: readonly FittedTicker[];
  readonly failures: readonly Failure[];
}

/** Counts are fits. `planned` grows while the job reads tickers; it is final once `isComplete`. */
export interface FitProgress {
  readonly done: number;
  readonly planned: number;
  readonly isComplete: boolean;
}

/**
 * Fits every ticker while the job still reads the others. A ticker that fails is listed and the others go on. `fitTicker` writes a ticker's
 * matrix to a file, which the engine maps, and drops the copy in this process at once: the reader is faster than the engine, so thousands
 * of tickers wait for a worker, and their matrices together would keep the whole feature blob in memory.
 * @param read starts the reading; its signal aborts if the engine fails, so that a stalled blob does not delay that error.
 * @throws MucastError errors of the reading, and errors of the engine that are not about one ticker.
 */
export async function fitTickers(
  read: (signal: AbortSignal) => AsyncIterable<TickerPanel | Failure> | Iterable<TickerPanel | Failure>,
  options: FitOptions & { readonly onFits: (progress: FitProgress) => void },
): Promise<FitOutcome> {
  const { settings, onFits } = options;
  const progress = { done: 0, planned: 0, isComplete: false };
  const onFit = () => {
    progress.done++;
    onFits(progress);
  };
  const failures: Failure[] = [];
  const results = await runEach<FittedTicker | Failure>(options.signal, async (start, signal) => {
    let index = 0;
    for await (const panel of read(signal)) {
      signal.throwIfAborted();
      if ("code" in panel) {
        failures.push(panel);
        continue;
      }
      const refused = refusedColumns(panel, settings);
      if (refused !== undefined) {
        failures.push(refused);
        continue;
      }
      const plan = planFits(panel, settings, options.blocks);
      progress.planned += plan.fits.length + plan.refits.length;
      start(fitTicker(panel, plan, index++, { ...options, signal }, onFit));
    }
    progress.isComplete = true;
    onFits(progress);
  });
  options.timings.finishAll();
  return sortOutcome(results, failures);
}

function sortOutcome(results: readonly (FittedTicker | Failure)[], early: readonly Failure[]): FitOutcome {
  const byTicker = (a: { ticker: string }, b: { ticker: string }) => compareCodePoints(a.ticker, b.ticker);
  const fitted: FittedTicker[] = [];
  const failures = [...early];
  for (const result of results) {
    if ("code" in result) failures.push(result);
    else fitted.push(result);
  }
  return { fitted: fitted.sort(byTicker), failures: failures.sort(byTicker) };
}
