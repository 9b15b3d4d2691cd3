import { verdictFigures } from "../contract/output/order-name.ts";
import { median } from "../evaluate/statistics.ts";
import type { OutputDocument } from "../outputs/open-document.ts";
import type { OutputSummary } from "../outputs/output-summary.ts";

/** A metric of a run: values by step, steps ascending. */
export interface MetricSeries {
  readonly name: string;
  readonly points: readonly MetricPoint[];
}

/** A value at a fold, a block or an epoch, counted from 1; 0 for a metric of the whole run. */
interface MetricPoint {
  readonly step: number;
  readonly value: number;
}

/** Points of one metric; of more, evenly spaced ones with the first and the last. */
export const MAX_POINTS = 1_000;

/**
 * The metrics of an output. `score/` and `out_of_fold/`: over all rows; `zero/` and `mean/`: those of the baselines; `fold/`, by fold, and
 * `epoch/`, by epoch: medians over the tickers and the networks; `block/`: by block of refits. Undefined values are absent.
 */
export function runMetrics(output: OutputDocument): MetricSeries[] {
  const { document } = output;
  const whole = Object.entries(wholeMetrics(document)).flatMap(([name, value]) =>
    isNumber(value) ? [{ name, points: [{ step: 0, value }] }] : [],
  );
  return [...whole, ...foldMetrics(output), ...epochMetrics(document), ...blockMetrics(document)];
}

type Figures = Readonly<Record<string, unknown>>;

function wholeMetrics({ metrics, verdict, mu, warnings, failures }: OutputSummary): Figures {
  const { score, out_of_fold, baselines, intervals, shrinkage } = metrics;
  const judged = verdict?.judged[0];
  return {
    tickers: Object.keys(mu).length,
    failures: failures.length,
    warnings: warnings.length,
    ...tableFigures("score", score, verdict),
    ...tableFigures("out_of_fold", out_of_fold, verdict),
    ...named("zero/score", baselines.zero.score.pooled),
    ...named("zero/out_of_fold", baselines.zero.out_of_fold?.pooled),
    ...named("mean/score", baselines.mean.score.pooled),
    ...named("mean/out_of_fold", baselines.mean.out_of_fold?.pooled),
    ...named("intervals", intervals?.pooled),
    ...named("shrinkage", shrinkage?.pooled),
    "verdict/order": judged?.order.figure,
    "verdict/order_t": judged?.order.t,
    ...(judged === undefined ? {} : named("verdict", verdictFigures(judged))),
    "verdict/coverage": judged?.intervals?.figure,
  };
}

/** Without the ICs of fewer than five tickers, whose order is judged over time. */
function tableFigures(
  rows: string,
  table: OutputSummary["metrics"]["out_of_fold"],
  verdict: OutputSummary["verdict"],
): Figures {
  if (table === undefined) return {};
  const { pooled, cross_section, r2_zero_median, by_delay = [], exposures } = table;
  const isOverTime = verdict?.judged.find((set) => set.rows === rows)?.order.form === "time_series";
  return {
    ...named(rows, { ...(isOverTime ? {} : cross_section), ...pooled }),
    [`${rows}/r2_zero_median`]: r2_zero_median,
    ...Object.assign(
      {},
      ...by_delay.map(({ delay, ...figures }) => named(`${rows}/delay_${delay}`, figures)),
    ),
    ...exposureFigures(`${rows}/exposures`, exposures),
  };
}

function exposureFigures(prefix: string, exposures: OutputSummary["metrics"]["score"]["exposures"]): Figures {
  if (exposures === undefined) return {};
  const { by_exposure, residual, ...figures } = exposures;
  return {
    ...named(prefix, figures),
    ...named(`${prefix}/residual`, residual),
    ...Object.assign({}, ...by_exposure.map(({ name, ...own }) => named(`${prefix}/${name}`, own))),
  };
}

function named(prefix: string, figures: object | undefined): Figures {
  return Object.fromEntries(
    Object.entries(figures ?? {}).map(([name, value]) => [`${prefix}/${name}`, value]),
  );
}

/** Median over the tickers that have the fold. */
function foldMetrics(output: OutputDocument): MetricSeries[] {
  const byFold = new StepValues();
  for (const { folds } of output.outOfFold ?? []) {
    for (const { number, fold } of folds) byFold.add(number, named("fold", fold));
  }
  return byFold.series();
}

/** Median over the networks that trained in the epoch, every member of an ensemble counted; `epoch/networks` is their number. */
function epochMetrics({ training = {} }: OutputSummary): MetricSeries[] {
  const byEpoch = new StepValues();
  const networks = Object.values(training).flatMap(({ members = [], ...first }) => [first, ...members]);
  for (const { epochs } of networks) {
    for (const [k, losses] of epochs.entries()) byEpoch.add(k + 1, named("epoch", losses));
  }
  const longest = networks.reduce((most, { epochs }) => Math.max(most, epochs.length), 0);
  const counts = Array.from({ length: longest }, (_, k) => ({
    step: k + 1,
    value: networks.filter(({ epochs }) => epochs.length > k).length,
  }));
  return longest === 0 ? [] : [...byEpoch.series(), { name: "epoch/networks", points: thinned(counts) }];
}

function blockMetrics({ refits }: OutputSummary): MetricSeries[] {
  const byBlock = new StepValues();
  for (const [k, block] of (refits?.blocks ?? []).entries()) byBlock.add(k + 1, named("block", block));
  return byBlock.series();
}

/** The numbers of several tickers or networks, by name and step. */
class StepValues {
  readonly #values = new Map<string, number[][]>();

  /** Ignores what is not a number. */
  add(step: number, figures: Figures): void {
    for (const [name, value] of Object.entries(figures)) {
      if (!isNumber(value)) continue;
      const steps = this.#values.get(name) ?? [];
      this.#values.set(name, steps);
      steps[step] ??= [];
      steps[step].push(value);
    }
  }

  /** The medians. */
  series(): MetricSeries[] {
    return [...this.#values].map(([name, steps]) => {
      const points = steps.flatMap((values, step) => {
        const value = median(Float64Array.from(values));
        return value === null ? [] : [{ step, value }];
      });
      return { name, points: thinned(points) };
    });
  }
}

function thinned(points: readonly MetricPoint[]): readonly MetricPoint[] {
  if (points.length <= MAX_POINTS) return points;
  const last = points.length - 1;
  return Array.from({ length: MAX_POINTS }, (_, k) => points[Math.round((k * last) / (MAX_POINTS - 1))]!);
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
