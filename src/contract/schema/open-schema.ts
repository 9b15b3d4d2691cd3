import { z } from "zod";

function about<S extends z.ZodType>(schema: S, text: string | undefined): S {
  return text === undefined ? schema : schema.describe(text);
}

export const text = (description?: string) => about(z.string(), description);
export const flag = (description?: string) => about(z.boolean(), description);
export const number = (description?: string) => about(z.number(), description);
export const count = (description?: string) => about(z.int().nonnegative(), description);
export const positive = (description?: string) => about(z.int().positive(), description);
export const date = (description?: string) => about(z.string().regex(/^\d{4}-\d{2}-\d{2}$/), description);
export const operationId = (description?: string) =>
  about(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), description);
export const digest = (description?: string) => about(z.string().regex(/^[0-9a-f]{64}$/), description);

export const optionalText = (description?: string) => optional(z.string(), description);
export const textOrNull = (description?: string) => nullable(z.string(), description);
export const optionalNumber = (description?: string) => optional(z.number(), description);
export const maybe = (description?: string) => nullable(z.number(), description);
export const maybeAbsent = (description?: string) => optional(maybe(), description);

export function list<S extends z.ZodType>(entry: S, description?: string): z.ZodArray<S> {
  return about(z.array(entry), description);
}

export function optional<S extends z.ZodType>(schema: S, description?: string): z.ZodOptional<S> {
  return about(schema.optional(), description);
}

export function nullable<S extends z.ZodType>(schema: S, description?: string): z.ZodNullable<S> {
  return about(schema.nullable(), description);
}

export function optionalList<S extends z.ZodType>(entry: S, description?: string) {
  return optional(z.array(entry), description);
}

export function integer(least: number, most: number) {
  return z.int().min(least).max(most);
}

export function byDefault<S extends z.ZodType>(
  schema: S,
  value: z.core.util.NoUndefined<z.output<S>>,
  about: string,
): z.ZodDefault<S> {
  return schema.default(value).describe(about);
}

type Named<S extends z.core.$ZodLooseShape> = z.ZodObject<z.core.util.Writeable<S>, z.core.$strict>;

/** A strict object with its name in the published schemas. */
export function named<S extends z.core.$ZodLooseShape>(id: string, shape: S): Named<S>;
export function named<S extends z.core.$ZodLooseShape>(id: string, description: string, shape: S): Named<S>;
export function named(id: string, first: string | z.core.$ZodLooseShape, shape?: z.core.$ZodLooseShape) {
  if (typeof first === "string") return z.strictObject(shape!).meta({ id, description: first });
  return z.strictObject(first).meta({ id });
}

export function titled<S extends z.core.$ZodLooseShape>(id: string, title: string, shape: S): Named<S> {
  return z.strictObject(shape).meta({ id, title });
}

const growing = z.registry<{ readonly grows: true }>();

/** Marks an enum, or a union with a discriminator, to which a later version may add names, which a reader accepts too. */
export function mayGrow<S extends z.ZodType>(schema: S): S {
  growing.add(schema, { grows: true });
  return schema;
}

const exact = new WeakSet<z.ZodType>();

/** Marks a schema to which no version may add anything: readers validate with the schema itself, wherever it occurs. */
export function staysExact<S extends z.ZodType>(schema: S): S {
  exact.add(schema);
  return schema;
}

const opened = new WeakMap<z.ZodType, z.ZodType>();

/**
 * The schema that a reader validates with: that of what this version writes, with further members at every level, which are kept, and
 * further names if `mayGrow` marks a list. A schema marked by `staysExact` is unchanged. The type describes what this version writes.
 */
export function openSchema<S extends z.ZodType>(written: S): z.ZodType<z.output<S>, z.input<S>> {
  const known = opened.get(written);
  if (known !== undefined) return known as z.ZodType<z.output<S>, z.input<S>>;
  const made = open(written);
  const meta = z.globalRegistry.get(written);
  const named = made === written || meta === undefined ? made : made.meta(meta);
  opened.set(written, named).set(named, named);
  return named as z.ZodType<z.output<S>, z.input<S>>;
}

function open(written: z.ZodType): z.ZodType {
  if (exact.has(written)) return written;
  if (written instanceof z.ZodObject) {
    const members = Object.entries(written.shape).map(([name, member]) => [
      name,
      openSchema(member as z.ZodType),
    ]);
    return z.looseObject(Object.fromEntries(members));
  }
  if (written instanceof z.ZodArray) return z.array(openSchema(written.element as z.ZodType));
  if (written instanceof z.ZodRecord) {
    return z.record(written.keyType, openSchema(written.valueType as z.ZodType));
  }
  if (written instanceof z.ZodNullable) return openSchema(written.unwrap() as z.ZodType).nullable();
  if (written instanceof z.ZodOptional) return openSchema(written.unwrap() as z.ZodType).optional();
  if (written instanceof z.ZodUnion) {
    const options = written.options.map((option) => openSchema(option as z.ZodType));
    if (!(written instanceof z.ZodDiscriminatedUnion)) return z.union(options);
    const same = z.discriminatedUnion(written.def.discriminator, options as never);
    return growing.get(written) ? z.union([same, otherOption(written)]) : same;
  }
  // The names of `written` without its id, which the union takes over.
  if (written instanceof z.ZodEnum && growing.get(written))
    return z.union([z.enum(written.enum), z.string()]);
  return written;
}

/** An object with a name that this version does not know, with the members that all known ones share. */
function otherOption({ def, options }: z.ZodDiscriminatedUnion): z.ZodType {
  const shapes = options.map((option) => (option as z.ZodObject).shape as Record<string, z.ZodType>);
  const names = shapes.map((shape) => (shape[def.discriminator] as z.ZodLiteral<string>).value);
  const [first, ...others] = shapes;
  const members = Object.entries(first!)
    .filter(([member]) => others.every((shape) => member in shape))
    .map(([member, schema]) => [
      member,
      others.every((shape) => shape[member] === schema) ? openSchema(schema) : z.unknown(),
    ]);
  const another = z
    .string()
    .refine((name) => !names.includes(name), "is a name that is known, of another shape")
    .meta({ not: { enum: names } });
  return z.looseObject({ ...Object.fromEntries(members), [def.discriminator]: another });
}

interface Converted {
  readonly zodSchema: z.core.$ZodTypes;
  readonly jsonSchema: z.core.JSONSchema.BaseSchema;
}

/** An `override` of z.toJSONSchema, which omits the default if a schema reads its input by a function, as queryCount does. */
export function addDefault({ zodSchema, jsonSchema }: Converted): void {
  const { def } = zodSchema._zod;
  if (def.type === "default")
    jsonSchema.default ??= def.defaultValue as z.core.JSONSchema.BaseSchema["default"];
}
