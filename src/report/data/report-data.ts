import type { Day } from "../../contract/market/dates.ts";
import type { Verdict as ForecastVerdict } from "../../contract/output/verdict.ts";
import type { Band } from "../statistics/over-dates.ts";
import type { ComparisonTests } from "./comparison-tests.ts";
import type { Unit } from "./figures.ts";
import type {
  Folds,
  IntervalsSection,
  Mu,
  OrderWorth,
  Sizes,
  SkillOverTime,
  TickerTable,
  Training,
} from "./section-data.ts";

export type { Band, Unit };

/**
 * Everything that a report says, in numbers and words; charts and page take it from here and compute nothing.
 *
 * Returns are next-day log-returns, shares lie in [0, 1], and NaN in a typed array is a gap. A `finding` is one plain sentence about
 * a chart, and its accessible name. Text from a blob (tickers, features, messages, model, provenance) and findings that name a ticker
 * are untrusted: they are stored unchanged, and the page escapes them.
 */
export interface ReportData {
  readonly title: string;
  /** In the given order; several outputs are each reported on the rows that all of them have. */
  readonly outputs: readonly OutputReport[];
  /** Only with several outputs. */
  readonly comparison?: Comparison;
}

/** A part of the report, or a sentence that says why the blob has none. */
export type Part<T> =
  | { readonly data: T; readonly absent?: undefined }
  | { readonly data?: undefined; readonly absent: string };

/** One output: the nine sections of its report. */
export interface OutputReport {
  /** The name of the model, such as `lightgbm`; outputs with the same model get a number. */
  readonly name: string;
  readonly facts: OutputFacts;
  readonly verdict: Verdict;
  readonly mu: Part<Mu>;
  readonly skill: Part<SkillOverTime>;
  readonly order: Part<OrderWorth>;
  readonly sizes: Part<Sizes>;
  readonly intervals: Part<IntervalsSection>;
  readonly folds: Part<Folds>;
  readonly training: Part<Training>;
  readonly tickers: Part<TickerTable>;
  readonly origin: Origin;
}

export interface OutputFacts {
  readonly operation: string;
  readonly id: string;
  readonly createdAt: string;
  /** Each as `YYYY-MM-DD`. */
  readonly start: string;
  readonly end: string;
  readonly learningEnd: string | null;
  readonly asOf: string;
  /** The number of tickers with forecasts. */
  readonly tickers: number;
  /** The labelled score rows of the report, and their first and last day. */
  readonly rows: number;
  readonly dates: number;
  readonly firstDay: Day | undefined;
  readonly lastDay: Day | undefined;
}

/** 1. The conclusion for the reader. */
export interface Verdict {
  /** State, title and sentences of the output's verdict; with several outputs, adjusted for their number. */
  readonly state: ForecastVerdict["state"];
  readonly title: string;
  readonly sentences: readonly string[];
  readonly tiles: readonly Tile[];
  readonly baselines: readonly ForecastMetrics[];
}

/** One number and its reference. */
export interface Tile {
  readonly name: string;
  readonly value: number | null;
  readonly unit: Unit;
  /** 95 %, with dates as units: Newey-West errors times the fixed-b quantile. */
  readonly band: Band | null;
  /** The value without skill, or the requested value. */
  readonly reference: { readonly name: string; readonly value: number | null };
  readonly finding: string;
}

/** A row of the table of forecasts: the model, the zero forecast, the historical mean. */
export interface ForecastMetrics {
  readonly name: string;
  readonly rmse: number | null;
  readonly mae: number | null;
  readonly hitRate: number | null;
  readonly r2Zero: number | null;
  readonly icMean: number | null;
  readonly rankIcMean: number | null;
}

/** 9. The origin of the numbers. */
export interface Origin {
  readonly warnings: readonly {
    readonly code: string;
    readonly ticker: string | undefined;
    readonly message: string;
    /** What the reader can do, if this version knows the code. */
    readonly cure: string | undefined;
  }[];
  readonly failures: readonly {
    readonly ticker: string;
    readonly code: string;
    readonly message: string;
  }[];
  /** Names with values as text, in the order of the blob. */
  readonly provenance: readonly NamedText[];
  readonly model: readonly NamedText[];
  /** In units of the model's library, sorted by the mean over tickers of the absolute share, the largest first; at most 30. */
  readonly importances: Part<{
    readonly features: readonly {
      readonly feature: string;
      readonly share: number;
      readonly tickers: number;
      /** With refits: the mean over models of the standard deviation over their fits, as a share of the importances of the last. */
      readonly spread?: number;
    }[];
    readonly finding: string;
  }>;
  readonly replay: CheckVerdict | undefined;
  readonly audit: CheckVerdict | undefined;
}

export interface NamedText {
  readonly name: string;
  readonly text: string;
}

export interface CheckVerdict {
  readonly verdict: string;
  readonly isGood: boolean;
  readonly sentence: string;
  readonly lines: readonly string[];
}

/** Several outputs on the rows that all of them have. */
export interface Comparison {
  /** The names of the outputs, in their order. */
  readonly names: readonly string[];
  readonly rows: number;
  readonly dates: number;
  readonly tickers: number;
  /** For each output, the labelled rows that are not among them. */
  readonly leftOut: readonly number[];
  readonly rowsFinding: string;
  readonly metrics: readonly {
    readonly name: string;
    readonly unit: Unit;
    /** Which of two values is better; `near` means closer to the reference. */
    readonly better: "higher" | "lower" | "near";
    readonly values: readonly (number | null)[];
  }[];
  readonly tests: ComparisonTests;
  readonly skillFinding: string;
  readonly confidenceFinding: string;
  readonly pairsFinding: string;
  readonly choice: {
    /** Index into `names`; undefined if a careful person would choose none. */
    readonly index: number | undefined;
    readonly sentence: string;
  };
}
