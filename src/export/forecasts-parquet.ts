import { ByteWriter, type ColumnSource, parquetWrite } from "hyparquet-writer";
import { MUCAST_VERSION } from "../contract/version.ts";
import { COLUMNS, type Column, type ColumnKind } from "./columns.ts";
import type { ForecastPart } from "./forecast-parts.ts";

type SchemaElement = NonNullable<Parameters<typeof parquetWrite>[0]["schema"]>[number];

/** How Parquet stores a kind of value; dates are days since 1970-01-01. */
const ELEMENTS: Readonly<Record<ColumnKind, Omit<SchemaElement, "name">>> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  date: { type: "INT32", converted_type: "DATE" },
  integer: { type: "INT32" },
  number: { type: "DOUBLE" },
};

/** The number of rows that a reader decodes at a time. */
const ROW_GROUP = 100_000;

/** The forecasts as one Parquet file, compressed with Snappy. Missing values are null. The same forecasts give the same bytes. */
export async function forecastsParquet(parts: readonly ForecastPart[]): Promise<Uint8Array> {
  const writer = new ByteWriter();
  const leaves = COLUMNS.map(({ name, kind }) => ({
    name,
    ...ELEMENTS[kind],
    repetition_type: "OPTIONAL" as const,
  }));
  await parquetWrite({
    writer,
    columnData: COLUMNS.map((column) => columnSource(column, parts)),
    schema: [{ name: "forecasts", num_children: leaves.length }, ...leaves],
    rowGroupSize: ROW_GROUP,
    createdBy: `mucast version ${MUCAST_VERSION}`,
  });
  return writer.getBytes();
}

function columnSource(column: Column, parts: readonly ForecastPart[]): ColumnSource {
  const data: (string | number | null)[] = [];
  for (const part of parts) {
    for (let row = 0; row < part.days.length; row++) {
      const value = column.of(part, row);
      data.push(value === undefined || Number.isNaN(value) ? null : value);
    }
  }
  return { name: column.name, data };
}
