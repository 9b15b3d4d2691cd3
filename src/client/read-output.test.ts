import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonSchema } from "../contract/api/published-schemas.ts";
import { outputBlobSchema } from "../contract/output/output-blob.ts";
import { openSchema } from "../contract/schema/open-schema.ts";
import type { Schema } from "./checks.ts";
import { readOutput } from "./read-output.ts";

/** With the schemas that a published one refers to. */
type Published = Schema & { readonly $defs: Readonly<Record<string, Schema>> };

const PUBLISHED = jsonSchema("output-blob") as Published;

/** An output with every member that the published schema knows, including optional ones. */
function sample(schema: Schema = PUBLISHED): unknown {
  if (schema.$ref !== undefined) return sample(PUBLISHED.$defs[schema.$ref.replace("#/$defs/", "")]);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined) return sample(schema.anyOf[0]);
  if (typeof schema.type === "object") return sample({ ...schema, type: schema.type[0]! });
  if (schema.type === "array") return [sample(schema.items)];
  if (schema.type === "object") return sampleObject(schema);
  if (schema.type === "boolean") return true;
  if (schema.type === "string") return sampleText(schema);
  return schema.exclusiveMinimum === undefined ? 0 : 1;
}

function sampleObject({ properties, additionalProperties }: Schema): object {
  if (properties === undefined) return { AAPL: sample(additionalProperties) };
  return Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, sample(member)]));
}

function sampleText({ format, pattern = "" }: Schema): string {
  if (format === "date-time") return "2026-01-05T08:30:00.000Z";
  return ["text", "2026-01-05", "0".repeat(64)].find((value) => new RegExp(pattern).test(value))!;
}

const SAMPLE = sample();

/** Every path in a document with what is there, outermost first. */
function* placesOf(
  value: unknown,
  before: readonly string[] = [],
): Generator<readonly [path: readonly string[], value: unknown]> {
  yield [before, value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* placesOf(member, [...before, name]);
}

/** A copy of the document with `value` at `place`, or nothing if that is undefined. Parts that are not on the path are shared. */
function changed([step, ...further]: readonly string[], value: unknown, before: unknown = SAMPLE): unknown {
  if (step === undefined) return value;
  const copy = (Array.isArray(before) ? [...before] : { ...(before as object) }) as Record<string, unknown>;
  if (further.length === 0 && value === undefined) delete copy[step];
  else copy[step] = changed(further, value, copy[step]);
  return copy;
}

function isRead(value: unknown): boolean {
  try {
    readOutput(value);
    return true;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return false;
  }
}

/** For every list in the published schema. */
const NAMES = [
  ...new Set(
    [...JSON.stringify(PUBLISHED).matchAll(/"enum":(\[.*?\])/g)].flatMap(([, names]): string[] =>
      JSON.parse(names!),
    ),
  ),
];

const OTHERS = [
  NAMES[0],
  undefined,
  null,
  true,
  "?",
  -1,
  0,
  1.5,
  Number.POSITIVE_INFINITY,
  [],
  ["?"],
  {},
  { "?": "?" },
];

/** For a text also every name, because the published schema may list it there. */
const othersFor = (value: unknown) => (typeof value === "string" ? [...NAMES, ...OTHERS] : OTHERS);

test("an output is accepted if the published schema accepts it, and refused if that refuses it", () => {
  const published = openSchema(outputBlobSchema);
  const places = [...placesOf(SAMPLE)];
  let [tried, refused] = [0, 0];
  for (const [place, value] of places) {
    for (const other of othersFor(value)) {
      tried += 1;
      const document = changed(place, other);
      const { success } = published.safeParse(document);
      assert.equal(isRead(document), success, `${place.join(".")}: ${JSON.stringify(other)}`);
      if (!success) refused += 1;
    }
  }
  assert.ok(isRead(SAMPLE));
  assert.ok(NAMES.includes("upper"));
  assert.ok(refused > places.length, `${refused} of ${tried}`);
});

test("members and codes of a later version are kept", () => {
  const later = changed(["warnings", "0"], { code: "new", message: "m", more: [1] }) as object;
  assert.deepEqual(readOutput({ ...later, new: { deep: 1 } }), { ...later, new: { deep: 1 } });
});

test("the error of an invalid output names the member and its value", () => {
  for (const [place, value, message] of [
    [["mu", "AAPL"], "0.01", 'mu.AAPL must be a finite number, got "0.01"'],
    [["forecasts", "AAPL", "dates", "0"], 5, "forecasts.AAPL.dates.0 must be text, got 5"],
    [["provenance", "device"], undefined, "provenance.device must be text, got nothing"],
    [["schema"], "mucast.forecast/2", 'schema must be mucast.forecast/1, got "mucast.forecast/2"'],
    [[], [], "it must be an object, got []"],
  ] as const) {
    assert.throws(() => readOutput(changed(place, value)), {
      name: "TypeError",
      message: `this is not an output of mucast: ${message}`,
    });
  }
});
