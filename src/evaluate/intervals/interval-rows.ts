/** Score rows of one ticker, ascending by date, as needed for its intervals and their evidence: shape (n) each. */
export interface IntervalRows {
  readonly days: Int32Array;
  /** The date at whose close the label is known; meaningless without a label. */
  readonly labelDays: Int32Array;
  /** NaN if there is no label. */
  readonly realised: Float64Array;
  readonly predicted: Float64Array;
  /** Standard deviation of the last returns known at the row's date, NaN if there are too few. */
  readonly volatility: Float64Array;
}

/** Forecasts of rows that the model did not learn from, by date, with the finite labels of those rows: shape (m) each. */
export interface Residuals {
  readonly realised: Float64Array;
  readonly predicted: Float64Array;
}
