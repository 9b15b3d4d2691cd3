import { z } from "zod";
import { resultRecordSchema } from "../output/result-record.ts";

const growing = z.registry<{ readonly grows: true }>();

/**
 * Marks a list of names (an enum, or a union told apart by a name) to which a later version may add: what is written
 * has one of them, a reader takes others too.
 */
export function mayGrow<S extends z.ZodType>(schema: S): S {
  growing.add(schema, { grows: true });
  return schema;
}

const opened = new WeakMap<z.ZodType, z.ZodType>();

/**
 * What a reader checks by: the schema of what is written, but with members that it does not know, at every level, and
 * other names where `mayGrow` says so. The result record stays exact, whatever it stands in.
 *
 * The type is that of what this version writes: what a later one adds is kept, and has no type.
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
  if (written === resultRecordSchema) return written;
  if (written instanceof z.ZodObject) return openObject(written);
  if (written instanceof z.ZodArray) return z.array(openSchema(written.element as z.ZodType));
  if (written instanceof z.ZodRecord) {
    return z.record(written.keyType, openSchema(written.valueType as z.ZodType));
  }
  if (written instanceof z.ZodNullable) return openSchema(written.unwrap() as z.ZodType).nullable();
  if (written instanceof z.ZodOptional) return openSchema(written.unwrap() as z.ZodType).optional();
  if (written instanceof z.ZodUnion) return openUnion(written);
  if (written instanceof z.ZodEnum && growing.get(written)) return z.union([written, z.string()]);
  return written;
}

function openObject(written: z.ZodObject): z.ZodType {
  const members = Object.entries(written.shape).map(([name, member]) => [
    name,
    openSchema(member as z.ZodType),
  ]);
  return z.looseObject(Object.fromEntries(members));
}

function openUnion(written: z.ZodUnion): z.ZodType {
  const options = written.options.map((option) => openSchema(option as z.ZodType));
  if (!(written instanceof z.ZodDiscriminatedUnion)) return z.union(options);
  const same = z.discriminatedUnion(written.def.discriminator, options as never);
  return growing.get(written) ? z.union([same, otherOption(written)]) : same;
}

/** An object of a name that this version does not know, with the members that all known ones share. */
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
