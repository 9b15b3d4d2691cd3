import type { OutputBlob } from "../contract/output/output-blob.ts";
import {
  anything,
  count,
  flag,
  listOf,
  matching,
  name,
  nullable,
  number,
  object,
  oneOf,
  optional,
  positive,
  recordOf,
  text,
} from "./checks.ts";

/** A member of the output blob, where it is there. */
type Member<K extends keyof OutputBlob> = NonNullable<OutputBlob[K]>;
type ByTicker<K extends keyof OutputBlob> = Member<K> extends Record<string, infer T> ? T : never;
type Table = OutputBlob["metrics"]["score"];

const maybe = nullable(number);
const date = matching(/^\d{4}-\d{2}-\d{2}$/, "a date as YYYY-MM-DD");
const moment = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$/, "a moment in UTC");
const digest = matching(/^[0-9a-f]{64}$/, "a SHA-256 in hexadecimal");

const METRICS = {
  n: count,
  rmse: maybe,
  mae: maybe,
  hit_rate: maybe,
  up_share: optional(maybe),
  hit_rate_se: optional(maybe),
  r2_zero: maybe,
  r2_mean: maybe,
  correlation: maybe,
};

const metricsTable = object<Table>({
  pooled: object<Table["pooled"]>(METRICS),
  by_ticker: recordOf(object<Table["pooled"]>(METRICS)),
  cross_section: object<Table["cross_section"]>({
    dates: count,
    mean_tickers: optional(maybe),
    ic_mean: maybe,
    ic_std: maybe,
    icir: maybe,
    ic_t: maybe,
    ic_t_newey_west: optional(maybe),
    rank_ic_mean: maybe,
    rank_ic_std: maybe,
    rank_icir: maybe,
    rank_ic_t: maybe,
  }),
  r2_zero_median: optional(maybe),
});

type Metrics = Member<"metrics">;
type Baseline = Metrics["baselines"]["zero"];
const baseline = object<Baseline>({ score: metricsTable, out_of_fold: optional(metricsTable) });

type Intervals = NonNullable<Metrics["intervals"]>;
type Evidence = Intervals["pooled"];
const COVERAGE = { n: count, coverage: maybe, mean_width: maybe, interval_score: optional(maybe) };
const coverage = object<NonNullable<Evidence["high_volatility"]>>(COVERAGE);
const evidence = object<Evidence>({
  ...COVERAGE,
  by_year: optional(recordOf(coverage)),
  high_volatility: optional(coverage),
  worst_250: optional(maybe),
  prequential: optional(
    nullable(object<NonNullable<Evidence["prequential"]>>({ n: count, coverage: maybe })),
  ),
});
const INTERVAL_TABLE = {
  pooled: evidence,
  by_volatility: optional(listOf(coverage)),
  joint_misses: optional(
    object<NonNullable<Intervals["joint_misses"]>>({ dates: count, half_missed: count }),
  ),
  by_ticker: recordOf(evidence),
};
type OtherMethod = NonNullable<Intervals["other_methods"]>[string];

type Shrinkage = NonNullable<Metrics["shrinkage"]>;
const shrinkage = object<Shrinkage["pooled"]>({ n: count, b: maybe, se: maybe, s: number });

const metrics = object<Metrics>({
  score: metricsTable,
  out_of_fold: optional(metricsTable),
  baselines: object<Metrics["baselines"]>({ zero: baseline, mean: baseline }),
  shrinkage: optional(
    object<Shrinkage>({
      pooled: shrinkage,
      by_date: optional(shrinkage),
      by_ticker: recordOf(shrinkage),
      applied: optional(recordOf(number)),
    }),
  ),
  intervals: nullable(
    object<Intervals>({
      method: optional(name()),
      alpha: number,
      bound: oneOf<Intervals["bound"]>({ both: true, lower: true, upper: true }),
      constants: optional(recordOf(number)),
      ...INTERVAL_TABLE,
      other_methods: optional(recordOf(object<OtherMethod>({ ...INTERVAL_TABLE, score_ratio: maybe }))),
    }),
  ),
});

type Verdict = Member<"verdict">;
type Judged = Verdict["judged"][number];
const FINDING = { dates: count, figure: maybe, t: maybe, quantile: maybe, sentence: text };
const sizeTest = object<Judged["sizes"]["against"]["zero"]>({
  r2: maybe,
  clark_west_t: maybe,
  squared_error_t: maybe,
});
const judged = object<Judged>({
  rows: name(),
  order: object<Judged["order"]>({
    ...FINDING,
    state: name(),
    form: name(),
    mean_figure: maybe,
    added_figure: optional(maybe),
    added_t: optional(maybe),
  }),
  sizes: object<Judged["sizes"]>({
    ...FINDING,
    state: name(),
    informative: flag,
    best_baseline: name(),
    against: object<Judged["sizes"]["against"]>({ zero: sizeTest, mean: sizeTest }),
  }),
  intervals: nullable(
    object<NonNullable<Judged["intervals"]>>({
      ...FINDING,
      state: name(),
      asked: number,
      quiet: optional(maybe),
      wild: optional(maybe),
    }),
  ),
});
const verdict = object<Verdict>({
  state: name(),
  rows: name(),
  title: text,
  sentence: text,
  judged: listOf(judged),
});

const forecast = object<ByTicker<"forecasts">>({
  dates: listOf(date),
  predicted: listOf(number),
  realised: listOf(maybe),
  lower: listOf(maybe),
  upper: listOf(maybe),
});

type Fit = ByTicker<"fits">;
type Splits = NonNullable<Fit["splits"]>;
const dateSpan = nullable(object<NonNullable<Splits["train"]>>({ start: date, end: date }));
const importances = optional(
  listOf(object<NonNullable<Fit["importances"]>[number]>({ feature: text, importance: number })),
);
const fit = object<Fit>({
  fit_rows: count,
  features: count,
  label_mean: number,
  importances,
  splits: optional(object<Splits>({ train: dateSpan, validate: dateSpan, calibrate: dateSpan })),
});

type PooledFit = Member<"pooled">;
const pooledFit = object<PooledFit>({
  fit_rows: count,
  features: count,
  label_mean: number,
  fold_rows: listOf(count),
  importances,
});

type Refits = Member<"refits">;
const spreadImportances = optional(
  listOf(
    object<NonNullable<Refits["importances"]>[number]>({
      feature: text,
      importance: number,
      spread: optional(number),
    }),
  ),
);
const refits = object<Refits>({
  blocks: listOf(
    object<Refits["blocks"][number]>({
      start: date,
      end: date,
      fit_rows: count,
      tickers: count,
      stand_ins: count,
      n: count,
      r2_zero: maybe,
      hit_rate: maybe,
      dates: count,
      ic_mean: maybe,
      rank_ic_mean: maybe,
    }),
  ),
  by_ticker: recordOf(
    object<Refits["by_ticker"][string]>({
      joins: optional(text),
      label_means: listOf(maybe),
      factors: optional(listOf(maybe)),
      importances: spreadImportances,
    }),
  ),
  importances: spreadImportances,
});

type CrossValidation = ByTicker<"cross_validation">;
const crossValidation = object<CrossValidation>({
  folds: listOf(
    object<CrossValidation["folds"][number]>({
      train_start: date,
      train_end: date,
      test_start: date,
      test_end: date,
      train_rows: count,
      ...METRICS,
    }),
  ),
  dates: listOf(date),
  predicted: listOf(number),
  realised: listOf(number),
  ...METRICS,
});

type Training = ByTicker<"training">;
const NETWORK = {
  epochs: listOf(
    object<Training["epochs"][number]>({
      train_loss: number,
      validation_loss: number,
      validation_ic: optional(number),
    }),
  ),
  best_epoch: positive,
  prediction_scale: optional(number),
};
const training = object<Training>({
  ...NETWORK,
  zero_validation_loss: optional(number),
  parameters: count,
  members: optional(
    listOf(
      object<NonNullable<Training["members"]>[number]>({
        ...NETWORK,
        member: positive,
        zero_validation_loss: number,
      }),
    ),
  ),
});

type Machine = NonNullable<Member<"machine">>;
const machine = object<Machine>({
  processor: text,
  numpy_dispatch: listOf(text),
  torch_capability: nullable(text),
  blas: recordOf(
    object<Machine["blas"][string]>({ name: text, version: nullable(text), kernel: nullable(text) }),
  ),
});

const output = object<OutputBlob>({
  schema: oneOf<OutputBlob["schema"]>({ "mucast.forecast/1": true }),
  operation: name(),
  id: text,
  created_at: moment,
  machine: optional(nullable(machine)),
  window: object<Member<"window">>({
    start: date,
    end: date,
    learning_end: nullable(date),
    as_of: date,
    median_spacing_days: optional(maybe),
  }),
  mu: recordOf(number),
  mu_dates: optional(recordOf(date)),
  mu_spread: optional(recordOf(number)),
  verdict: optional(verdict),
  forecasts: recordOf(forecast),
  fits: optional(recordOf(fit)),
  pooled: optional(pooledFit),
  refits: optional(refits),
  cross_validation: optional(recordOf(crossValidation)),
  training: optional(recordOf(training)),
  metrics,
  model: recordOf(anything),
  warnings: listOf(
    object<Member<"warnings">[number]>({
      code: name(),
      message: text,
      ticker: optional(text),
      count: optional(count),
    }),
  ),
  failures: listOf(object<Member<"failures">[number]>({ ticker: text, code: text, message: text })),
  provenance: object<Member<"provenance">>({
    feature_url: text,
    data_extractor_url: text,
    feature_sha256: digest,
    data_extractor_sha256: digest,
    config: optional(nullable(text)),
    config_sha256: digest,
    versions: recordOf(text),
    lock_sha256: optional(nullable(digest)),
    seed: anything,
    threads_per_fit: positive,
    threads: optional(nullable(recordOf(nullable(positive)))),
    kernel_level: optional(nullable(text)),
    device: text,
  }),
});

/**
 * A parsed output blob, given back as what it is. Members and codes that this version does not know are left in it.
 * @throws TypeError with the place and the value where it is no `mucast.forecast/1`.
 */
export function readOutput(value: unknown): OutputBlob {
  try {
    return output(value, []);
  } catch (error) {
    throw new TypeError(`this is no output of mucast: ${(error as TypeError).message}`);
  }
}
