import type { Day } from "../../contract/market/dates.ts";
import type { CalibrationBin } from "../statistics/calibration.ts";
import type { Histogram } from "../statistics/histogram.ts";
import type { HorizonSkill } from "../statistics/horizon-skill.ts";
import type { Band } from "../statistics/over-dates.ts";
import type { SpreadAfterCosts } from "../statistics/spread-after-costs.ts";
import type { Unit } from "./figures.ts";

/** What sections 2 to 8 of a report say, in numbers and words; `report-data.ts` says how to read them. */

/** 2. The forecasts of as_of, the largest first; of equal ones by ticker. */
export interface Mu {
  readonly finding: string;
  readonly asOf: string;
  readonly bars: readonly MuBar[];
  /** Of all mu. */
  readonly histogram: Histogram;
}

export interface MuBar {
  readonly ticker: string;
  readonly mu: number;
  /** Null where there is no end. */
  readonly lower: number | null;
  readonly upper: number | null;
  /** Its row's date where that is before as_of. */
  readonly olderDate: string | undefined;
  /** Of an ensemble how far its members are apart, log-return. */
  readonly spread: number | undefined;
}

/** 3. IC and RankIC over the dates that count. */
export interface SkillOverTime {
  /** Shape (n), ascending; all arrays below likewise. */
  readonly days: Int32Array;
  readonly ic: DailyCorrelation;
  readonly rankIc: DailyCorrelation;
  /** The dates on which models were fitted again; empty without refits. */
  readonly refits: readonly Day[];
  /** How many dates a rolling mean is over. */
  readonly rollingDates: number;
  readonly years: readonly PeriodSkill[];
  readonly months: readonly (PeriodSkill & { readonly month: number })[];
  readonly yearsFinding: string;
  readonly monthsFinding: string;
}

export interface DailyCorrelation {
  readonly values: Float64Array;
  /** Running sum. */
  readonly cumulative: Float64Array;
  /** At each date half the width of the band around 0 that holds 95 % of the sums of a forecast without skill. */
  readonly funnel: Float64Array;
  /** Mean of the last `rollingDates` values, NaN before there are as many. */
  readonly rolling: Float64Array;
  /** Half the width of the same band for a rolling mean; NaN without one. */
  readonly rollingFunnel: number;
  readonly histogram: Histogram;
  readonly mean: number;
  /** Newey-West. */
  readonly t: number | null;
  readonly finding: string;
  readonly rollingFinding: string;
  readonly histogramFinding: string;
}

export interface PeriodSkill {
  readonly year: number;
  readonly dates: number;
  readonly ic: number;
  readonly rankIc: number;
}

/** 4. What the order of the forecasts was worth, in simple returns. */
export interface OrderWorth {
  /** From the lowest forecasts to the highest. */
  readonly quantiles: readonly QuantileReturn[];
  readonly quantilesFinding: string;
  /** Dates on which both the top and the bottom quantile have a ticker. */
  readonly spread: {
    readonly days: Int32Array;
    /** Mean simple return of the top quantile less that of the bottom one. */
    readonly values: Float64Array;
    readonly summed: Float64Array;
    readonly mean: number;
    readonly t: number | null;
    readonly finding: string;
  };
  /** Absent where no two successive dates have three tickers in common. */
  readonly turnover:
    | {
        readonly days: Int32Array;
        /** Spearman correlation of the forecasts of a date with those of the date before, over the tickers of both. */
        readonly autocorrelation: Float64Array;
        /** Mean over the last `rollingDates`, NaN before. */
        readonly rolling: Float64Array;
        readonly rollingDates: number;
        readonly mean: number;
        /** Mean shares of both ends that were not in them on the date before; NaN where no date tells. */
        readonly topReplaced: number;
        readonly bottomReplaced: number;
        readonly finding: string;
      }
    | undefined;
  /** The IC over 1 to 20 days; without horizons of which no date counts. */
  readonly horizons: readonly HorizonSkill[];
  readonly horizonsFinding: string;
  /** Absent where no date has both a spread and a turnover. */
  readonly costs: (SpreadAfterCosts & { readonly finding: string }) | undefined;
}

export interface QuantileReturn {
  /** Counted from 1, the lowest forecasts. */
  readonly quantile: number;
  readonly dates: number;
  /** Mean over dates of the mean realised simple return. */
  readonly realised: number;
  /** Of the mean forecast likewise; null beyond the range of a float64. */
  readonly predicted: number | null;
  readonly band: Band | null;
}

/** 5. Whether forecasts have the right size. */
export interface Sizes {
  readonly calibration: {
    /** By forecast, the lowest first; as many rows in each as can be. Fewer than ten where forecasts repeat. */
    readonly bins: readonly CalibrationBin[];
    readonly finding: string;
  };
  readonly tickers: {
    /** The best first; without those whose R² does not exist. */
    readonly rows: readonly { readonly ticker: string; readonly n: number; readonly r2Zero: number }[];
    readonly median: number | null;
    readonly histogram: Histogram;
    readonly finding: string;
  };
}

/** 6. Intervals and what they held. */
export interface IntervalsSection {
  readonly method: string | undefined;
  readonly bound: "both" | "lower" | "upper";
  /** 1 - alpha. */
  readonly nominal: number;
  readonly n: number;
  readonly coverage: number;
  /** Pooled over the tickers of the last `rollingDates` dates, NaN before; with the median width of each date. */
  readonly overTime: {
    readonly days: Int32Array;
    readonly rollingDates: number;
    readonly coverage: Float64Array;
    /** Of a one-sided interval the median distance of its end from the forecast. */
    readonly width: Float64Array;
    readonly coverageFinding: string;
    readonly widthFinding: string;
  };
  /** The lowest coverage first. */
  readonly tickers: readonly TickerCoverage[];
  readonly tickersFinding: string;
  readonly years: readonly YearCoverage[];
  readonly yearsFinding: string;
  readonly misses: { readonly below: number; readonly above: number; readonly finding: string };
  /** By the blob; undefined for outputs of older versions, where no ticker has rows enough, and beside outputs that lack some of the rows. */
  readonly volatility: VolatilityCoverage | undefined;
  /** What the other methods would have given on the same rows, by the blob. */
  readonly others: readonly OtherMethod[];
  readonly othersFinding: string | undefined;
}

/** Of the tenths of each ticker's rows by volatility, the quietest first. */
export interface VolatilityCoverage {
  readonly tenths: readonly TenthCoverage[];
  /** The coverage that each other method would have given, by name. */
  readonly others: Readonly<Record<string, readonly (number | null)[]>>;
  readonly finding: string;
}

export interface TenthCoverage {
  readonly n: number;
  readonly coverage: number | null;
  readonly meanWidth: number | null;
}

export interface TickerCoverage {
  readonly ticker: string;
  readonly n: number;
  readonly coverage: number;
  readonly below: number;
  readonly above: number;
  readonly meanWidth: number | null;
}

export interface YearCoverage {
  readonly year: number;
  readonly n: number;
  readonly coverage: number;
  readonly meanWidth: number | null;
}

export interface OtherMethod {
  readonly name: string;
  readonly coverage: number | null;
  readonly meanWidth: number | null;
  readonly worstTicker: number | null;
  readonly years: readonly YearCoverage[];
  /** Interval score of the method asked for over this one's. */
  readonly scoreRatio: number | null;
}

/** 7. The walk-forward folds, the first in time first. */
export interface Folds {
  readonly folds: readonly FoldSpan[];
  readonly timelineFinding: string;
  readonly skillFinding: string;
  /** The same metric out of fold and on score rows. */
  readonly beside: readonly BesideScore[];
  readonly besideFinding: string;
}

/** Over its tickers: the earliest start and the latest end. */
export interface FoldSpan {
  readonly fold: number;
  readonly tickers: number;
  readonly trainStart: Day;
  readonly trainEnd: Day;
  readonly testStart: Day;
  readonly testEnd: Day;
  /** Test rows of all tickers. */
  readonly n: number;
  readonly r2Zero: number | null;
}

export interface BesideScore {
  readonly name: string;
  readonly unit: Unit;
  readonly outOfFold: number | null;
  readonly score: number | null;
}

/** 7, of networks. */
export interface Training {
  readonly networks: readonly TrainedNetwork[];
  readonly finding: string;
}

/** How one network went through its epochs. */
export interface Course {
  readonly validationLoss: Float64Array;
  /** What early stopping watched, where that was the IC of the validation dates. */
  readonly validationIc: Float64Array | undefined;
  /** Counted from 1. */
  readonly bestEpoch: number;
  /** The validation loss of the zero forecast, where the blob has it. */
  readonly zeroLoss: number | undefined;
}

export interface TrainedNetwork extends Course {
  /** A ticker, or `portfolio`. */
  readonly name: string;
  readonly trainLoss: Float64Array;
  readonly parameters: number;
  /** Of an ensemble its networks from member 1 on. */
  readonly members: readonly Course[];
  readonly finding: string;
}

/** 8. Tickers by code point. */
export interface TickerTable {
  readonly finding: string;
  readonly rows: readonly TickerRow[];
}

export interface TickerRow {
  readonly ticker: string;
  readonly mu: number | null;
  /** Labelled score rows. */
  readonly n: number;
  readonly rmse: number | null;
  readonly hitRate: number | null;
  readonly r2Zero: number | null;
  readonly r2Mean: number | null;
  readonly correlation: number | null;
  readonly coverage: number | null;
  readonly meanWidth: number | null;
  /** Null where no labelled row has an interval, as coverage and meanWidth. */
  readonly misses: number | null;
  readonly series: TickerSeries;
  readonly finding: string;
}

/** All score rows of a ticker, whole; a page of many tickers draws fewer points. */
export interface TickerSeries {
  readonly days: Int32Array;
  readonly predicted: Float64Array;
  /** NaN where it is not known yet. */
  readonly realised: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
}
