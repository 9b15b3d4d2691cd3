/** The rows of two calendars for the same days. */
export interface CommonDays {
  /** How many days both have. */
  readonly length: number;
  /** Shape (length): their rows in the previous calendar, ascending. */
  readonly previousRows: Int32Array;
  /** Shape (length): their rows in the current calendar, ascending. */
  readonly currentRows: Int32Array;
}

/** The days that both calendars have. @param previous, current days, strictly ascending. */
export function commonDays(previous: Int32Array, current: Int32Array): CommonDays {
  const most = Math.min(previous.length, current.length);
  const previousRows = new Int32Array(most);
  const currentRows = new Int32Array(most);
  let length = 0;
  for (let i = 0, j = 0; i < previous.length && j < current.length; ) {
    const difference = previous[i]! - current[j]!;
    if (difference === 0) {
      previousRows[length] = i;
      currentRows[length] = j;
      length++;
    }
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
  return {
    length,
    previousRows: previousRows.subarray(0, length),
    currentRows: currentRows.subarray(0, length),
  };
}

/** The days of `days` that `others` lacks. Both ascend strictly. */
export function daysWithout(days: Int32Array, others: Int32Array): Int32Array {
  let j = 0;
  return days.filter((day) => {
    while (j < others.length && others[j]! < day) j++;
    return others[j] !== day;
  });
}

/**
 * The values of one column on some of its rows.
 * @param rows ascending; if they are successive, the result is a view.
 */
export function valuesOn(column: Float64Array, rows: Int32Array): Float64Array {
  const length = rows.length;
  if (length === 0) return column.subarray(0, 0);
  const first = rows[0]!;
  if (rows[length - 1]! - first === length - 1) return column.subarray(first, first + length);
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++) values[i] = column[rows[i]!]!;
  return values;
}
