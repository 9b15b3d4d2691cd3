import type { ThriftReader } from "./thrift.ts";

/** Physical types, by their number in parquet.thrift. */
export const PHYSICAL_TYPES = [
  "BOOLEAN",
  "INT32",
  "INT64",
  "INT96",
  "FLOAT",
  "DOUBLE",
  "BYTE_ARRAY",
  "FIXED_LEN_BYTE_ARRAY",
] as const;
export type PhysicalType = (typeof PHYSICAL_TYPES)[number];

/** The meaning of a column's values. `other` is a type that no column of a blob may have, such as a decimal. */
export type LogicalType =
  | { readonly kind: "plain" | "unsigned" | "date" | "text" }
  | { readonly kind: "timestamp"; readonly unit: TimeUnit; readonly isUtc: boolean }
  | { readonly kind: "other"; readonly name: string };

/** Units of a timestamp, as fractions of a millisecond. */
export type TimeUnit = "ms" | "us" | "ns";

export interface LeafColumn {
  /** Its name, or for a nested column the outermost group's. */
  readonly name: string;
  readonly physical: PhysicalType;
  readonly logical: LogicalType;
  /** Whether its values are in a group or a list, which no column of a blob may be. */
  readonly isNested: boolean;
  readonly isOptional: boolean;
}

interface Element {
  readonly name: string;
  readonly physical: PhysicalType | undefined;
  readonly logical: LogicalType;
  readonly repetition: number;
  /** Undefined for a column with values. */
  readonly children: number | undefined;
}

const OPTIONAL = 1;
const REPEATED = 2;
const MAX_SCHEMA_DEPTH = 32;

/** Reads the list of schema elements, the next value of `reader`. */
export function readSchema(reader: ThriftReader, maxColumns: number): LeafColumn[] {
  const elements: Element[] = [];
  reader.list(() => {
    // Groups of a real table are far fewer than its columns.
    if (elements.length > 4 * maxColumns)
      throw reader.fault(`the schema has more than ${elements.length} parts`);
    elements.push(readElement(reader));
  });
  const [root] = elements;
  if (root?.children === undefined) throw reader.fault("the schema has no root");
  const columns: LeafColumn[] = [];
  let next = 1;
  for (let i = 0; i < root.children; i++) next = addColumns(reader, elements, next, undefined, columns, 0);
  if (next !== elements.length) throw reader.fault("the schema has parts outside its root");
  return columns;
}

/**
 * Adds the columns of the element at `index` and of those inside it, which follow it.
 * @param outermost name of the group around it.
 * @returns the index after them.
 */
function addColumns(
  reader: ThriftReader,
  elements: readonly Element[],
  index: number,
  outermost: string | undefined,
  columns: LeafColumn[],
  depth: number,
): number {
  const element = elements[index];
  if (element === undefined) throw reader.fault("the schema is cut short");
  if (depth > MAX_SCHEMA_DEPTH) throw reader.fault(`the schema is nested more than ${MAX_SCHEMA_DEPTH} deep`);
  const { physical, logical, repetition } = element;
  const name = outermost ?? element.name;
  if (element.children === undefined) {
    if (physical === undefined) throw reader.fault("the schema has a column without type");
    const isNested = outermost !== undefined || repetition === REPEATED;
    columns.push({ name, physical, logical, isNested, isOptional: repetition === OPTIONAL });
    return index + 1;
  }
  let next = index + 1;
  for (let i = 0; i < element.children; i++) {
    next = addColumns(reader, elements, next, name, columns, depth + 1);
  }
  return next;
}

function readElement(reader: ThriftReader): Element {
  let name = "";
  let physical: PhysicalType | undefined;
  let repetition = 0;
  let children: number | undefined;
  let converted: number | undefined;
  let logical: LogicalType | undefined;
  reader.struct((id) => {
    if (id === 1) {
      physical = PHYSICAL_TYPES[reader.integer()];
      if (physical === undefined) throw reader.fault("the schema has a column of an unknown type");
    } else if (id === 3) repetition = reader.integer();
    else if (id === 4) name = reader.text();
    else if (id === 5) children = reader.integer();
    else if (id === 6) converted = reader.integer();
    else if (id === 10) logical = readLogicalType(reader);
  });
  if (children !== undefined && children < 0)
    throw reader.fault("the schema has a negative number of columns");
  // Some writers give 0 children to a column with values.
  if (children === 0 && physical !== undefined) children = undefined;
  return { name, physical, repetition, children, logical: logical ?? convertedType(converted) };
}

/** `LogicalType` of parquet.thrift, a union. */
function readLogicalType(reader: ThriftReader): LogicalType {
  let found: LogicalType = { kind: "other", name: "an unknown logical type" };
  reader.struct((id) => {
    if (id === 1 || id === 4) found = { kind: "text" };
    else if (id === 6) found = { kind: "date" };
    else if (id === 8) found = readTimestamp(reader);
    else if (id === 10) found = readInteger(reader);
    // Only nulls.
    else if (id === 11) found = { kind: "plain" };
    else found = { kind: "other", name: OTHER_LOGICAL[id] ?? "an unknown logical type" };
  });
  return found;
}

const OTHER_LOGICAL: Readonly<Record<number, string>> = {
  2: "map",
  3: "list",
  5: "decimal",
  7: "time",
  12: "json",
  13: "bson",
  14: "uuid",
  15: "float16",
};

function readTimestamp(reader: ThriftReader): LogicalType {
  let isUtc = false;
  let unit: TimeUnit | undefined;
  reader.struct((id) => {
    if (id === 1) isUtc = reader.boolean();
    else if (id === 2) {
      reader.struct((unitId) => {
        unit = ({ 1: "ms", 2: "us", 3: "ns" } as const)[unitId];
      });
    }
  });
  return unit === undefined
    ? { kind: "other", name: "timestamp of an unknown unit" }
    : { kind: "timestamp", unit, isUtc };
}

function readInteger(reader: ThriftReader): LogicalType {
  let isSigned = true;
  reader.struct((id) => {
    if (id === 2) isSigned = reader.boolean();
  });
  return { kind: isSigned ? "plain" : "unsigned" };
}

/** `ConvertedType` of parquet.thrift, which older writers use instead of the logical type. */
function convertedType(type: number | undefined): LogicalType {
  switch (type) {
    case undefined:
    case 15:
    case 16:
    case 17:
    case 18:
      return { kind: "plain" };
    case 0:
    case 4:
      return { kind: "text" };
    case 6:
      return { kind: "date" };
    case 9:
      return { kind: "timestamp", unit: "ms", isUtc: true };
    case 10:
      return { kind: "timestamp", unit: "us", isUtc: true };
    case 11:
    case 12:
    case 13:
    case 14:
      return { kind: "unsigned" };
    default:
      return { kind: "other", name: OTHER_CONVERTED[type] ?? "an unknown converted type" };
  }
}

const OTHER_CONVERTED: Readonly<Record<number, string>> = {
  1: "map",
  2: "map",
  3: "list",
  5: "decimal",
  7: "time",
  8: "time",
  19: "json",
  20: "bson",
  21: "interval",
};

export function typeName({ physical, logical, isNested }: LeafColumn): string {
  if (isNested) return "nested";
  if (logical.kind === "other") return logical.name;
  return logical.kind === "plain" ? physical.toLowerCase() : logical.kind;
}
