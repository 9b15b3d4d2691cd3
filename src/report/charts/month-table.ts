/** The mean of a year or a month, and the number of its dates. */
export interface YearCell {
  readonly year: number;
  readonly dates: number;
  readonly value: number;
}

export interface MonthCell extends YearCell {
  /** Counted from 1. */
  readonly month: number;
}

/** The mean over fewer dates means too little for a shade. */
const SHADED_DATES = 10;

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A table that is its own chart: each cell has its number and a shade that shows its size. Both lists are ascending. */
export function monthTable(months: readonly MonthCell[], years: readonly YearCell[]): string {
  const largest = months.reduce(
    (most, { value, dates }) => (dates < SHADED_DATES ? most : Math.max(most, Math.abs(value))),
    0,
  );
  const byYear = [...Map.groupBy(months, ({ year }) => year)];
  const rows = byYear.map(([year, cells]) => {
    const row = MONTHS.map((_, i) =>
      cellHtml(
        cells.find(({ month }) => month === i + 1),
        largest,
      ),
    );
    const whole = cellHtml(
      years.find((one) => one.year === year),
      largest,
    );
    return `<tr><th scope="row">${year}</th>${row.join("")}${whole}</tr>`;
  });
  const head = MONTHS.map((month) => `<th scope="col">${month[0]}<span>${month.slice(1)}</span></th>`);
  return `<table class="heat"><thead><tr><th scope="col"><span class="unseen">Year</span></th>${head.join("")}<th scope="col">Year</th></tr></thead><tbody>${rows.join("\n")}</tbody></table>`;
}

/** In hundredths, because cells are narrow. */
function cellHtml(cell: YearCell | undefined, largest: number): string {
  if (cell === undefined) return "<td></td>";
  const { value, dates } = cell;
  const strength =
    largest === 0 || dates < SHADED_DATES ? 0 : Math.min(3, Math.ceil((3 * Math.abs(value)) / largest));
  const text = Math.abs(value).toFixed(2).replace(/^0/, "");
  return `<td class="${value < 0 ? "below" : "above"}${strength}">${value < 0 && /[1-9]/.test(text) ? "\u2212" : ""}${text}</td>`;
}
