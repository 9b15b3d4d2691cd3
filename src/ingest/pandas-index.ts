import { type ZoneCalendar, zoneCalendar } from "./date-text.ts";

/** The names that pandas gives to the columns of an unnamed index; other tools may keep the name and drop pandas' metadata. */
const UNNAMED = /^__index_level_\d+__$/;

const TABLE_KEY = "pandas";
const ATTRIBUTES_KEY = "PANDAS_ATTRS";
/** The entries of a file's metadata that pandas writes. */
export const PANDAS_KEYS: ReadonlySet<string> = new Set([TABLE_KEY, ATTRIBUTES_KEY]);

/** The columns that are an index, by pandas' metadata or by their name. A malformed or missing entry names none. */
export function indexColumns(
  columns: readonly string[],
  metadata: ReadonlyMap<string, string>,
): ReadonlySet<string> {
  const listed = jsonObject(metadata.get(TABLE_KEY)).index_columns;
  const names = Array.isArray(listed) ? listed.filter((name) => typeof name === "string") : [];
  return new Set([...names, ...columns.filter((name) => UNNAMED.test(name))]);
}

/** The time zones of the columns that pandas lists with one, by column. */
export function timeZones(metadata: ReadonlyMap<string, string>): ReadonlyMap<string, ZoneCalendar> {
  const { columns } = jsonObject(metadata.get(TABLE_KEY));
  const zones = new Map<string, ZoneCalendar>();
  for (const column of Array.isArray(columns) ? columns : []) {
    const zone = column?.metadata?.timezone;
    try {
      if (typeof zone === "string") zones.set(column.field_name, zoneCalendar(zone));
    } catch {
      // A zone that this machine does not know counts as UTC.
    }
  }
  return zones;
}

/** The attributes of a DataFrame (`df.attrs`), which pandas writes beside its own metadata. */
export function frameAttributes(metadata: ReadonlyMap<string, string>): Readonly<Record<string, unknown>> {
  return jsonObject(metadata.get(ATTRIBUTES_KEY));
}

function jsonObject(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // The metadata belongs to another program; without it, the names of the columns suffice.
    return {};
  }
}
