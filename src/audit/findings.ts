import type { AuditCheckName } from "../contract/config/payload-schemas.ts";
import type { Severity } from "../contract/output/audit-blob.ts";
import type { Finding } from "./check.ts";

type Row = readonly [severity: Severity, meaning: string, advice: string];

/** Every code of a finding, by check: its severity, what it means, and what the reader can do. */
const ROWS = {
  truncation: {
    forecast_changed: [
      "high",
      "When the blobs are cut after its date, a forecast changes. It depends on later data.",
      "Do not use the output. This is a bug in mucast or its environment: report it, with the blobs if you may share them.",
    ],
    interval_changed: [
      "high",
      "When the blobs are cut after its date, the interval of a forecast changes, although the forecast does not.",
      "Do not use the intervals. This is a bug in mucast or its environment: report it.",
    ],
    fold_changed: [
      "high",
      "When the blobs are cut after all dates of the folds, the folds or the out-of-fold forecasts change.",
      "Do not use the out-of-fold metrics. This is a bug in mucast or its environment: report it.",
    ],
    training_changed: [
      "high",
      "When the blobs end after the training cut-off, the training curve of a network changes.",
      "Do not use the output. This is a bug in mucast or its environment: report it.",
    ],
    fit_changed: [
      "high",
      "When the blobs end after the training cut-off, a model is fitted on different data.",
      "Do not use the output. This is a bug in mucast or its environment: report it.",
    ],
    ticker_changed: [
      "medium",
      "A ticker has forecasts from the cut blobs but not from the whole blobs, or the other way round.",
      "Compare the failures of the two runs. Which tickers take part must not depend on later dates.",
    ],
    choice_unsupported: [
      "high",
      "The candidates that the output records as chosen are not those that its losses support, at the end or when a fold begins.",
      "Do not use the output. This is a bug in mucast or its environment: report it.",
    ],
  },
  foresight: {
    knows_next_price: [
      "high",
      "A feature moves with the next return in a way that only a value computed from the next price does: almost perfectly, or more in its change since the previous day than in its value.",
      "Check how the feature is dated. Its value on a date may use prices up to that date, but no later ones. Compute it for one date from prices that end on that date, and compare.",
    ],
    knows_later_return: [
      "high",
      "The change of a feature moves with a return some price dates later, or with the size of that return, as happens with windows centred on their date. The severity is medium if an honest feature that leads returns by some dates would look the same.",
      "Let the window of the feature end on its date. Centred averages and two-sided filters use later values.",
    ],
    implausible_skill: [
      "medium",
      "A feature moves with the next return more than known forecasts do: for one ticker, over all tickers, or on part of the dates. Correlation alone cannot tell a leak from skill.",
      "Find out how the feature is made. If it is honest, acknowledge it: list it in `accept` (--accept FEATURE).",
    ],
    equals_later_value: [
      "high",
      "A feature is a later price or return, possibly scaled or shifted.",
      "Remove the feature: it is the label, or the label is computed from it.",
    ],
    missing_predicts_label: [
      "medium",
      "The next return, or its size, differs on dates where a feature is missing. The gaps depend on the return, or they are news themselves.",
      "Find out when a value goes missing and who knows about it at that time. Rows with a missing feature are excluded, so such gaps select rows by their label.",
    ],
    filled_from_later: [
      "medium",
      "On dates without a price, a feature has the value of the next date or is on the straight line to it.",
      "Fill gaps forward only. Values that are filled backwards or interpolated are known only when the next value is known.",
    ],
    value_without_price: [
      "note",
      "Features have values on dates without a price of their ticker. No job uses these rows.",
      "Check that the features come from the same calendar and prices as the data-extraction blob.",
    ],
    whole_sample_standardised: [
      "medium",
      "A feature has mean 0 and standard deviation 1 over its whole sample, or reaches each end of a scale such as 0 to 1 exactly once, and did not before its end. Later values were used to scale earlier ones.",
      "Provide the feature unscaled and let the `scaler` of the job standardise it, or scale it with earlier values only.",
    ],
  },
  skill: {
    implausible_job: [
      "medium",
      "The forecasts order returns better than an honest daily model can, by more than chance explains. A synthetic market can show such a figure; a real market that can be traded hardly does.",
      "Look for a leak in the features, starting with the strongest ones, and run an audit with the blobs of an earlier day. If the market is synthetic, acknowledge the finding: list `implausible_job` in `accept` (--accept implausible_job).",
    ],
    no_skill: [
      "note",
      "The job's verdict on these rows is no evidence of skill. The message gives both parts of the information coefficient: the part from lasting differences between tickers and the part from changes over time.",
      "Do not size positions by these forecasts. The blobs are not at fault.",
    ],
    skill_in_no_part: [
      "note",
      "The job's verdict is evidence of skill, but neither lasting differences between tickers nor changes over time show skill on their own.",
      "Both parts compare the tickers of a date, so neither shows skill in sizes or in moves of the whole market. Otherwise the evidence is weak: run the audit again when there are more dates.",
    ],
  },
  restatement: {
    feature_rewritten: [
      "high",
      "A feature has different values today than in the earlier blob on the same dates. Possible causes are a smoother or a centred window, a restated figure, or a different way to compute it.",
      "Give each date the value that was known on that date, as first published. If values near the end of the earlier blob changed (a small reach_rows), look for a window that extends past its date.",
    ],
    feature_standardised_again: [
      "high",
      "A feature was standardised with statistics of the whole sample, which change with every new day.",
      "Provide the feature unscaled and let the job scale it (its scalers are fitted on training rows), or standardise it over a window that ends on each date.",
    ],
    feature_rescaled: [
      "medium",
      "A feature was multiplied by a constant, as happens to a level of adjusted prices or volumes after a split or a dividend. Earlier values then reflect later events, and a model sees different levels than it learned.",
      "Use a ratio instead of the level, such as the price or the volume divided by its mean.",
    ],
    feature_back_filled: [
      "high",
      "A feature has values today on dates where the earlier blob had none.",
      "Fill forward only, and date each value by the day on which it was published.",
    ],
    feature_erased: [
      "medium",
      "A feature has no values today on dates where the earlier blob had some.",
      "Find out why the values are gone. What was known on a date should stay.",
    ],
    feature_arrived_late: [
      "note",
      "The earlier blob lacked the last rows of a ticker, for example because markets close at different times.",
      "Do nothing, or make the blobs after all values of a day are available.",
    ],
    feature_rows_added: [
      "high",
      "A ticker has features today on dates where the earlier blob had no row for it.",
      "Remove rows that were not available in time, and date each row by the day on which it was published.",
    ],
    feature_rows_vanished: [
      "medium",
      "A ticker has no features today on dates where the earlier blob had a row for it.",
      "Keep the history of each ticker. Rows that are removed after the fact are chosen with hindsight.",
    ],
    feature_removed: [
      "note",
      "A feature of the earlier blob is not in today's blob, so it cannot be compared.",
      "If it was removed on purpose, do nothing. A renamed feature is not compared.",
    ],
    price_rewritten: [
      "high",
      "Prices on dates of the earlier blob have changed, and so have the labels.",
      "Find out which of the two is right. If the change is an adjustment, it must multiply the whole history before its date by one factor.",
    ],
    price_rescaled: [
      "note",
      "The prices of a ticker were multiplied by a constant, as for a split or a dividend.",
      "For labels and for features that are ratios of prices, do nothing. A feature that is a price level changes too: use a ratio instead. If prices have few decimals, an adjusted history is coarser and its ratios change: provide prices with all digits.",
    ],
    price_back_filled: [
      "high",
      "A ticker has prices today on dates where the earlier blob had none.",
      "Remove prices that were not available in time, especially prices that were filled in from later ones.",
    ],
    price_arrived_late: [
      "note",
      "The earlier blob lacked the last prices of a ticker, for example because markets close at different times.",
      "Do nothing, or make the blobs after all prices are available.",
    ],
    price_vanished: [
      "medium",
      "A ticker has no prices today on dates where the earlier blob had some.",
      "Find out why the prices are gone, and keep them. Rows that are removed after the fact are chosen with hindsight.",
    ],
    ticker_vanished: [
      "high",
      "A ticker is gone with its whole history, as happens when a universe keeps only the survivors.",
      "Keep tickers that were delisted or left the index, with their history up to that day. Without them, the rest looks better than it was.",
    ],
    ticker_appeared: [
      "note",
      "A ticker is new with its whole history, as happens when it enters an index.",
      "Do not judge the past by this ticker: it was chosen for what it became.",
    ],
  },
} as const satisfies Record<AuditCheckName, Readonly<Record<string, Row>>>;

type Rows = typeof ROWS;
export type FindingCode = { [C in AuditCheckName]: keyof Rows[C] & string }[AuditCheckName];

/** The same by code. */
export const FINDING_TABLE = Object.fromEntries(
  Object.entries<Readonly<Record<string, Row>>>(ROWS).flatMap(([check, rows]) =>
    Object.entries(rows).map(([code, [severity, meaning, advice]]) => [
      code,
      { check, severity, meaning, advice },
    ]),
  ),
) as Readonly<
  Record<FindingCode, Pick<Finding, "severity" | "advice"> & { check: AuditCheckName; meaning: string }>
>;

/** A finding with a code of the table; check, severity and advice come from the table, unless others are given. */
export function finding(
  code: FindingCode,
  { severity, advice, ...found }: Pick<Finding, "message" | "evidence"> & Partial<Finding>,
): Finding {
  const row = FINDING_TABLE[code];
  return {
    check: row.check,
    code,
    severity: severity ?? row.severity,
    ...found,
    advice: advice ?? row.advice,
  };
}
