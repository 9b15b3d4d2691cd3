/** What the forecasts of an output are, such as `next-day log-returns`. @param delay of its window. */
export function returnsText(delay = 0): string {
  if (delay === 0) return "next-day log-returns";
  return `log-returns of one day that begins ${delay} ${delay === 1 ? "close" : "closes"} after the forecast`;
}
