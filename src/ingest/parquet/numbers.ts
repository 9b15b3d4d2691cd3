import { type Day, MILLISECONDS_PER_DAY } from "../../contract/market/dates.ts";
import { dayOfEpoch, dayOfText, type ZoneCalendar } from "../dates/date-text.ts";
import { isSameText, textAt } from "./byte-strings.ts";
import type { Cursor } from "./cursor.ts";
import type { LeafColumn, TimeUnit } from "./schema.ts";
import type { Values } from "./values.ts";

export function isNumeric({ physical, logical, isNested }: LeafColumn): boolean {
  if (isNested || (logical.kind !== "plain" && logical.kind !== "unsigned")) return false;
  return ["INT32", "INT64", "FLOAT", "DOUBLE"].includes(physical);
}

/** Whether a column is of a type that only dates have. */
export function isDated({ physical, logical, isNested }: LeafColumn): boolean {
  if (isNested) return false;
  if (logical.kind === "date") return physical === "INT32";
  return logical.kind === "timestamp" && physical === "INT64";
}

export function isText({ physical, logical, isNested }: LeafColumn): boolean {
  return !isNested && physical === "BYTE_ARRAY" && (logical.kind === "text" || logical.kind === "plain");
}

/** The float64 of each value. A value that is not finite is missing, as in JSON, and becomes NaN. */
export function toNumbers(values: Values, { logical }: LeafColumn): Float64Array {
  if (values instanceof Float64Array || values instanceof Float32Array) return finite(values);
  if (values instanceof Int32Array) {
    return Float64Array.from(logical.kind === "unsigned" ? new Uint32Array(values.buffer) : values);
  }
  if (values instanceof BigInt64Array) return fromInt64(values, logical.kind === "unsigned");
  throw new Error("texts are no numbers");
}

function finite(values: Float64Array | Float32Array): Float64Array {
  const numbers = values instanceof Float64Array ? values : new Float64Array(values);
  for (let i = 0; i < numbers.length; i++) {
    const number = numbers[i]!;
    // Only the difference of finite numbers is 0.
    if (number - number !== 0) numbers[i] = Number.NaN;
  }
  return numbers;
}

/** The nearest float64 of each: the high half is exact, so that adding the low half rounds once. */
function fromInt64(values: BigInt64Array, isUnsigned: boolean): Float64Array {
  const low = new Uint32Array(values.buffer);
  const high = isUnsigned ? low : new Int32Array(values.buffer);
  const numbers = new Float64Array(values.length);
  for (let i = 0; i < numbers.length; i++) numbers[i] = high[2 * i + 1]! * 2 ** 32 + low[2 * i]!;
  return numbers;
}

/** The zone that the caller names for times of day, and the zone that a column of instants is in. */
export interface Zones {
  readonly named: ZoneCalendar | undefined;
  /** UTC if it is undefined. */
  readonly own: ZoneCalendar | undefined;
}

/** NaN for a value that is not a date. */
export function toDays(values: Values, column: LeafColumn, cursor: Cursor, zones: Zones): Float64Array {
  const { logical } = column;
  if ("offsets" in values) return textDays(values, cursor, zones.named);
  if (logical.kind === "date") {
    return new Float64Array(values as Int32Array).map((day) => dayOfEpoch(day * MILLISECONDS_PER_DAY));
  }
  if (logical.kind === "timestamp") {
    return timestampDays(values as BigInt64Array, logical.unit, logical.isUtc, zones);
  }
  return toNumbers(values, column).map(dayOfEpoch);
}

const PER_DAY: Readonly<Record<TimeUnit, bigint>> = {
  ms: 86_400_000n,
  us: 86_400_000_000n,
  ns: 86_400_000_000_000n,
};

/** Midnight keeps its date: of a local time, and of an instant in its own zone. Other times have a date in the zone that the caller names. */
function timestampDays(
  times: BigInt64Array,
  unit: TimeUnit,
  isUtc: boolean,
  { named, own }: Zones,
): Float64Array {
  const perDay = PER_DAY[unit];
  const perMillisecond = perDay / BigInt(MILLISECONDS_PER_DAY);
  const days = new Float64Array(times.length);
  for (let i = 0; i < days.length; i++) {
    const time = times[i]!;
    if (i > 0 && time === times[i - 1]) {
      days[i] = days[i - 1]!;
      continue;
    }
    const rest = ((time % perDay) + perDay) % perDay;
    const midnight = Number((time - rest) / perDay) * MILLISECONDS_PER_DAY;
    const instant = midnight + Number(rest / perMillisecond);
    if (isUtc && own !== undefined) days[i] = own(instant - 1) < own(instant) ? own(instant) : Number.NaN;
    else days[i] = rest === 0n ? dayOfEpoch(midnight) : Number.NaN;
    if (Number.isNaN(days[i]) && named !== undefined) days[i] = isUtc ? named(instant) : dayOfEpoch(midnight);
  }
  return days;
}

const MAX_REMEMBERED = 2 ** 16;

function textDays(
  values: Extract<Values, { offsets: Uint32Array }>,
  cursor: Cursor,
  zone: ZoneCalendar | undefined,
): Float64Array {
  const known = new Map<string, Day>();
  const days = new Float64Array(values.offsets.length);
  for (let i = 0; i < days.length; i++) {
    if (i > 0 && isSameText(values, i - 1, i)) {
      days[i] = days[i - 1]!;
      continue;
    }
    const text = textAt(values, i, cursor);
    const day = known.get(text) ?? dayOfText(text, zone);
    if (known.size < MAX_REMEMBERED) known.set(text, day);
    days[i] = day;
  }
  return days;
}

export function valueText(values: Values, index: number, cursor: Cursor): string {
  return "offsets" in values ? textAt(values, index, cursor) : String(values[index]);
}
