import { rawNumber } from "../../contract/json/json-text.ts";
import { type RawJson, readTree, treeText } from "./draft.ts";
import { type JsonSchema, type Kind, kindOf } from "./schema.ts";

/** A number in JSON notation. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * The value of a control's text; undefined for an empty text, which omits the member. What is no number or no JSON where one is expected
 * stays a text, so that the service refuses it with its path.
 */
export function fieldValue(kind: Kind, text: string): RawJson | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  switch (kind) {
    case "flag":
      return trimmed === "true" || (trimmed === "false" ? false : trimmed);
    case "number":
    case "integer":
      return numberOrText(trimmed);
    case "numbers":
      return trimmed.split(/[\s,;]+/).flatMap((part) => (part === "" ? [] : [numberOrText(part)]));
    case "names":
    case "checks":
      return trimmed.split(/\s*\n\s*/);
    case "json":
      return jsonFault(trimmed) === undefined ? readTree(trimmed, "The text") : trimmed;
    default:
      return trimmed;
  }
}

function numberOrText(text: string): RawJson {
  return JSON_NUMBER.test(text) && Number.isFinite(Number(text)) ? rawNumber(text) : text;
}

/** Why a text is not JSON; undefined if it is. */
export function jsonFault(text: string): string | undefined {
  try {
    readTree(text, "The text");
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The text with which a control shows a value; JSON if typing the value would give another one. */
export function fieldText(kind: Kind, value: RawJson | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string" && fieldValue(kind, value) === value) return value;
  const separator = { numbers: ", ", names: "\n", checks: "\n" }[kind as string];
  if (separator === undefined || !Array.isArray(value)) return treeText(value);
  return value.map((item: RawJson) => (typeof item === "string" ? item : treeText(item))).join(separator);
}

/** What a field accepts, in words; empty if its description already says so. */
export function acceptedText(schema: JsonSchema): string {
  const kind = kindOf(schema);
  if (kind === "names") return "One per line.";
  const words = { integer: "An integer", number: "A number", numbers: "Comma-separated integers" }[
    kind as string
  ];
  if (words === undefined) return "";
  const {
    minimum: least,
    maximum: most,
    exclusiveMinimum: above,
    exclusiveMaximum: below,
  } = schema.items ?? schema;
  const isRange = least !== undefined && most !== undefined;
  const limits = [
    isRange && `${shown(least)} to ${shown(most)}`,
    !isRange && least !== undefined && `at least ${shown(least)}`,
    above !== undefined && `above ${shown(above)}`,
    below !== undefined && `below ${shown(below)}`,
    !isRange && most !== undefined && `at most ${shown(most)}`,
  ].filter((limit) => limit !== false);
  const each = kind === "numbers" ? "each " : "";
  return limits.length === 0 ? `${words}.` : `${words}, ${each}${limits.join(" and ")}.`;
}

/**
 * The text of an empty control: the default of the schema, or the one that only the description names. `cv_test_size` has none in the schema,
 * because a client that fills in defaults would send it beside its old name, `test_size`.
 */
export function placeholderText({ default: byDefault, description = "" }: JsonSchema): string | undefined {
  if (byDefault === undefined) return /; (\d+) by default\./.exec(description)?.[1];
  if (Array.isArray(byDefault)) return byDefault.join(", ");
  return typeof byDefault === "number" ? shown(byDefault) : String(byDefault);
}

/** Integers with commas; other numbers in JavaScript notation. */
function shown(number: number): string {
  return Number.isSafeInteger(number) ? number.toLocaleString("en-US") : String(number);
}
