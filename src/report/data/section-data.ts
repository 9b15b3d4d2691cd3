import type { Day } from "../../contract/market/dates.ts";
import type { CalibrationBin } from "../statistics/calibration.ts";
import type { Histogram } from "../statistics/histogram.ts";
import type { HorizonSkill } from "../statistics/horizon-skill.ts";
import type { AgeSkill } from "../statistics/model-age.ts";
import type { Band } from "../statistics/over-dates.ts";
import type { SpreadAfterCosts } from "../statistics/spread-after-costs.ts";
import type { Unit } from "./figures.ts";

/** The numbers and words of sections 2 to 8 of a report; `report-data.ts` has the conventions. */

/** 2. The forecasts of as_of, sorted by size, the largest first, then by ticker. */
export interface Mu {
  readonly finding: string;
  readonly asOf: string;
  readonly bars: readonly MuBar[];
  /** Over all mu. */
  readonly histogram: Histogram;
}

export interface MuBar {
  readonly ticker: string;
  readonly mu: number;
  /** Null without an end. */
  readonly lower: number | null;
  readonly upper: number | null;
  /** The date of its row, if that is before as_of. */
  readonly olderDate: string | undefined;
  /** For an ensemble, the spread of its members, log-return. */
  readonly spread: number | undefined;
}

/** 3. IC and RankIC over the dates that count. */
export interface SkillOverTime {
  /** Shape (n), ascending; all arrays below have the same shape. */
  readonly days: Int32Array;
  readonly ic: DailyCorrelation;
  readonly rankIc: DailyCorrelation;
  /** The dates on which models were fitted again; empty without refits. */
  readonly refits: readonly Day[];
  /** The RankIC by the age of the models, the youngest first; absent where all have one age. */
  readonly byAge?: { readonly bins: readonly AgeSkill[]; readonly finding: string };
  /** The number of dates in a rolling mean. */
  readonly rollingDates: number;
  readonly years: readonly PeriodSkill[];
  readonly months: readonly (PeriodSkill & { readonly month: number })[];
  readonly yearsFinding: string;
  readonly monthsFinding: string;
}

export interface DailyCorrelation {
  readonly values: Float64Array;
  /** The running sum. */
  readonly cumulative: Float64Array;
  /** For each date, half the width of the band around 0 that contains 95 % of the sums of a forecast without skill. */
  readonly funnel: Float64Array;
  /** Mean of the last `rollingDates` values; NaN before there are that many. */
  readonly rolling: Float64Array;
  /** Half the width of the same band for a rolling mean; NaN without one. */
  readonly rollingFunnel: number;
  readonly histogram: Histogram;
  readonly mean: number;
  /** Newey-West t. */
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

/** 4. What the order of the forecasts is worth, in simple returns. */
export interface OrderWorth {
  /** From the lowest forecasts to the highest. */
  readonly quantiles: readonly QuantileReturn[];
  readonly quantilesFinding: string;
  /** Dates on which both the top and the bottom quantile have a ticker. */
  readonly spread: {
    readonly days: Int32Array;
    /** Mean simple return of the top quantile minus that of the bottom one. */
    readonly values: Float64Array;
    readonly summed: Float64Array;
    readonly mean: number;
    readonly t: number | null;
    readonly finding: string;
  };
  /** Absent if no two successive dates have three tickers in common. */
  readonly turnover:
    | {
        readonly days: Int32Array;
        /** Spearman correlation of the forecasts of a date with those of the previous date, over the tickers of both. */
        readonly autocorrelation: Float64Array;
        /** Mean over the last `rollingDates`, NaN before. */
        readonly rolling: Float64Array;
        readonly rollingDates: number;
        readonly mean: number;
        /** Mean shares of the top and bottom that were not there on the previous date; NaN if no date has such a share. */
        readonly topReplaced: number;
        readonly bottomReplaced: number;
        readonly finding: string;
      }
    | undefined;
  /** The IC over 1 to 20 days; without horizons for which no date counts. */
  readonly horizons: readonly HorizonSkill[];
  readonly horizonsFinding: string;
  /** Absent if no date has both a spread and a turnover. */
  readonly costs: (SpreadAfterCosts & { readonly finding: string }) | undefined;
}

export interface QuantileReturn {
  /** Counted from 1, which has the lowest forecasts. */
  readonly quantile: number;
  readonly dates: number;
  /** Mean over dates of the mean realised simple return. */
  readonly realised: number;
  /** The same for the mean forecast; null beyond the range of a float64. */
  readonly predicted: number | null;
  readonly band: Band | null;
}

/** 5. Whether forecasts have the right size. */
export interface Sizes {
  readonly calibration: {
    /**
     * By forecast, the lowest first, with rows distributed as evenly as possible. There are fewer than ten bins if forecasts repeat.
     */
    readonly bins: readonly CalibrationBin[];
    readonly finding: string;
  };
  readonly tickers: {
    /** The best first; without tickers whose R² does not exist. */
    readonly rows: readonly { readonly ticker: string; readonly n: number; readonly r2Zero: number }[];
    readonly median: number | null;
    readonly histogram: Histogram;
    readonly finding: string;
  };
}

/** 6. Intervals and their actual coverage. */
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
    /** For a one-sided interval, the median distance of its end from the forecast. */
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
  /**
   * From the blob. Undefined for outputs of older versions, if no ticker has enough rows, and beside outputs that lack some of the
   * rows.
   */
  readonly volatility: VolatilityCoverage | undefined;
  /** What the other methods would have given on the same rows, from the blob. */
  readonly others: readonly OtherMethod[];
  readonly othersFinding: string | undefined;
}

/** For the tenths of each ticker's rows by volatility, the quietest first. */
export interface VolatilityCoverage {
  readonly tenths: readonly TenthCoverage[];
  /** The coverage that each other method would have had, by name. */
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
  /** The interval score of the requested method divided by that of this one. */
  readonly scoreRatio: number | null;
}

/** 7. The walk-forward folds, in time order. */
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

/** 7, for networks. */
export interface Training {
  readonly networks: readonly TrainedNetwork[];
  readonly finding: string;
}

/** The losses of one network by epoch. */
export interface Course {
  readonly validationLoss: Float64Array;
  /** The IC of the validation dates by epoch, if early stopping watched it. */
  readonly validationIc: Float64Array | undefined;
  /** Counted from 1. */
  readonly bestEpoch: number;
  /** The validation loss of the zero forecast, if the blob has it. */
  readonly zeroLoss: number | undefined;
}

export interface TrainedNetwork extends Course {
  /** A ticker, or `portfolio`. */
  readonly name: string;
  readonly trainLoss: Float64Array;
  readonly parameters: number;
  /** For an ensemble, its networks from member 1 on. */
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
  /** Null if no labelled row has an interval, like coverage and meanWidth. */
  readonly misses: number | null;
  readonly series: TickerSeries;
  readonly finding: string;
}

/** All score rows of a ticker; a page with many tickers draws fewer points. */
export interface TickerSeries {
  readonly days: Int32Array;
  readonly predicted: Float64Array;
  /** NaN if it is not known yet. */
  readonly realised: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
}
