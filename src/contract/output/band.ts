/** The range around a figure that chance explains. */
export interface Band {
  readonly low: number;
  readonly high: number;
}

/**
 * A figure plus and minus the quantile times its error, which is the figure divided by its t.
 * @param quantile of a one-sided test; null if there are too few dates. @returns null without an error.
 */
export function bandFromT(
  figure: number | null | undefined,
  t: number | null | undefined,
  quantile: number | null | undefined,
): Band | null {
  if (figure == null || !t || !Number.isFinite(t) || quantile == null) return null;
  const half = quantile * Math.abs(figure / t);
  return { low: figure - half, high: figure + half };
}
