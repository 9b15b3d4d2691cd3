/** Values that match a schema, generated from the schema itself: with every optional member, and one of each kind. */
import { z } from "zod";
import { resultRecordSchema } from "../output/result-record.ts";

const TEXTS = ["text", "2026-01-05", "2026-01-05T21:00:00.000Z", "ml_engine_1.json", "a".repeat(64)];

/** At least one value; with unions, as many as there are options. */
export function samplesOf(schema: z.ZodType): unknown[] {
  if (schema instanceof z.ZodObject) return objectsOf(schema);
  if (schema instanceof z.ZodArray) return samplesOf(schema.element as z.ZodType).map((item) => [item]);
  if (schema instanceof z.ZodRecord) {
    return samplesOf(schema.valueType as z.ZodType).map((value) => ({ ALFA: value }));
  }
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    return samplesOf(schema.unwrap() as z.ZodType);
  }
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => samplesOf(option as z.ZodType));
  if (schema instanceof z.ZodEnum) return [schema.options[0]];
  if (schema instanceof z.ZodLiteral) return [schema.value];
  return [[1, true, ...TEXTS].find((value) => schema.safeParse(value).success)];
}

function objectsOf({ shape }: z.ZodObject): unknown[] {
  const members = Object.entries(shape).map(
    ([name, member]) => [name, samplesOf(member as z.ZodType)] as const,
  );
  const count = Math.max(1, ...members.map(([, values]) => values.length));
  return Array.from({ length: count }, (_, index) =>
    Object.fromEntries(members.map(([name, values]) => [name, values[index % values.length]])),
  );
}

/** Every object inside a sample whose members are all named by its schema, except result records. */
export function namedObjects(schema: z.ZodType, value: unknown): Record<string, unknown>[] {
  if (schema === resultRecordSchema) return [];
  if (schema instanceof z.ZodObject) {
    const whole = value as Record<string, unknown>;
    const isStrict = schema.def.catchall instanceof z.ZodNever;
    return [
      ...(isStrict ? [whole] : []),
      ...Object.entries(schema.shape).flatMap(([name, member]) =>
        namedObjects(member as z.ZodType, whole[name]),
      ),
    ];
  }
  if (schema instanceof z.ZodArray) return namedObjects(schema.element as z.ZodType, (value as unknown[])[0]);
  if (schema instanceof z.ZodRecord) {
    return namedObjects(schema.valueType as z.ZodType, Object.values(value as object)[0]);
  }
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    return namedObjects(schema.unwrap() as z.ZodType, value);
  }
  if (schema instanceof z.ZodUnion) {
    const options = schema.options as readonly z.ZodType[];
    return namedObjects(options.find((option) => option.safeParse(value).success)!, value);
  }
  return [];
}
