/** What the forecasts of an output are, such as `next-day log-returns`. @param delay of its window. @param unit such as ` in percent`. */
export function returnsText(delay = 0, unit = ""): string {
  if (delay === 0) return `next-day log-returns${unit}`;
  return `log-returns${unit}${unit && ","} of the one day that begins ${delay} ${delay === 1 ? "close" : "closes"} after the forecast`;
}
