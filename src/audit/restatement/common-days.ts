/** The rows of two calendars for the same days. */
interface CommonDays {
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

/** Bits of a chunk: 1,024 days. */
const CHUNK_BITS = 10;
const CHUNK_WORDS = 2 ** (CHUNK_BITS - 5);

/** A set of days that takes 128 bytes for each 1,024 days with a member: each of thousands of features keeps one. */
export class ChangedDays {
  readonly #chunks = new Map<number, Int32Array>();
  size = 0;
  first = Number.POSITIVE_INFINITY;
  last = Number.NEGATIVE_INFINITY;

  add(day: number): void {
    const chunk = this.#chunk(day >> CHUNK_BITS);
    const word = (day >> 5) & (CHUNK_WORDS - 1);
    const bit = 1 << (day & 31);
    if ((chunk[word]! & bit) !== 0) return;
    chunk[word]! |= bit;
    this.size++;
    this.first = Math.min(this.first, day);
    this.last = Math.max(this.last, day);
  }

  #chunk(index: number): Int32Array {
    let chunk = this.#chunks.get(index);
    if (chunk === undefined) {
      chunk = new Int32Array(CHUNK_WORDS);
      this.#chunks.set(index, chunk);
    }
    return chunk;
  }
}
