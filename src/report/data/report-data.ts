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
 * What a report says, in numbers and words; charts and page take it from here and compute nothing.
 *
 * Returns are next-day log-returns, shares lie in [0, 1], and NaN in a typed array is a gap. A `finding` is one plain
 * sentence about a chart, and its accessible name. Every text that comes from a blob (tickers, features, messages, model,
 * provenance), findings that name a ticker among them, is hostile: it is as the blob has it, and the page escapes it.
 */
export interface ReportData {
  readonly title: string;
  /** In the order given; of several each is on the rows that all have in common. */
  readonly outputs: readonly OutputReport[];
  /** With several outputs. */
  readonly comparison?: Comparison;
}

/** A part of the report, or the sentence why the blob has none. */
export type Part<T> =
  | { readonly data: T; readonly absent?: undefined }
  | { readonly data?: undefined; readonly absent: string };

/** One output: the nine sections of its report. */
export interface OutputReport {
  /** Of the model, such as `lightgbm`; of several outputs with the same model, with a number behind it. */
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
  /** `YYYY-MM-DD` each. */
  readonly start: string;
  readonly end: string;
  readonly learningEnd: string | null;
  readonly asOf: string;
  /** With forecasts. */
  readonly tickers: number;
  /** Labelled score rows that the report is about, and their first and last day. */
  readonly rows: number;
  readonly dates: number;
  readonly firstDay: Day | undefined;
  readonly lastDay: Day | undefined;
}

/** 1. What a reader takes away. */
export interface Verdict {
  /** Of the verdict in the output, as are the title and the sentences; beside other outputs with their number counted. */
  readonly state: ForecastVerdict["state"];
  readonly title: string;
  readonly sentences: readonly string[];
  readonly tiles: readonly Tile[];
  readonly baselines: readonly ForecastMetrics[];
}

/** One number with what it has to be seen against. */
export interface Tile {
  readonly name: string;
  readonly value: number | null;
  readonly unit: Unit;
  /** 95 %, with dates as units: Newey-West errors times the fixed-b quantile. */
  readonly band: Band | null;
  /** What no skill gives, or what was asked for. */
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

/** 9. What the numbers come from. */
export interface Origin {
  readonly warnings: readonly {
    readonly code: string;
    readonly ticker: string | undefined;
    readonly message: string;
    /** What its reader can do, where this version knows the code. */
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
  /** By the model's library, the largest mean of absolute shares of a ticker first; at most 30. */
  readonly importances: Part<{
    readonly features: readonly {
      readonly feature: string;
      readonly share: number;
      readonly tickers: number;
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

/** Several outputs on the rows that all have. */
export interface Comparison {
  /** As the outputs are named, in their order. */
  readonly names: readonly string[];
  readonly rows: number;
  readonly dates: number;
  readonly tickers: number;
  /** Labelled rows of each output that are not among them. */
  readonly leftOut: readonly number[];
  readonly rowsFinding: string;
  readonly metrics: readonly {
    readonly name: string;
    readonly unit: Unit;
    /** Which of two values is the better one; `near` the reference. */
    readonly better: "higher" | "lower" | "near";
    readonly values: readonly (number | null)[];
  }[];
  readonly tests: ComparisonTests;
  readonly skillFinding: string;
  readonly confidenceFinding: string;
  readonly pairsFinding: string;
  readonly choice: {
    /** Index into `names`; undefined where a careful person takes none. */
    readonly index: number | undefined;
    readonly sentence: string;
  };
}
