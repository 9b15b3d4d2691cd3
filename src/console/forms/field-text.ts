import { isRawNumber, type RawJson, rawNumber } from "../../contract/json/json-text.ts";
import { readTree, treeText } from "./payload-tree.ts";
import type { Field } from "./schema-fields.ts";

/** A number in JSON notation. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * The value of a control's text; undefined for an empty text, which omits the member. If a number is expected and the text is not
 * one, it stays a text, so that the service refuses it with its path.
 * @throws MucastError for invalid text of a `json` field.
 */
export function fieldValue({ kind }: Pick<Field, "kind">, text: string): RawJson | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  switch (kind) {
    case "flag":
      return trimmed === "true" ? true : trimmed === "false" ? false : trimmed;
    case "number":
    case "integer":
      return numberOrText(trimmed);
    case "numbers":
      return trimmed.split(/[\s,;]+/).flatMap((part) => (part === "" ? [] : [numberOrText(part)]));
    case "names":
    case "checks":
      return lines(text);
    case "json":
      return readTree(text, "The text");
    case "choice":
    case "text":
    case "date":
      return trimmed;
  }
}

function numberOrText(text: string): RawJson {
  return JSON_NUMBER.test(text) && Number.isFinite(Number(text)) ? rawNumber(text) : text;
}

function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** The text with which a control shows a value; JSON if the value does not fit the control's kind. */
export function fieldText({ kind }: Pick<Field, "kind">, value: RawJson | undefined): string {
  if (value === undefined) return "";
  if (kind === "json") return treeText(value);
  if (typeof value === "boolean" && kind === "flag") return String(value);
  if (typeof value === "string" && (kind === "choice" || kind === "text" || kind === "date")) return value;
  if (isRawNumber(value)) return value.rawJSON;
  if (kind === "numbers" && Array.isArray(value)) return value.map(itemText).join(", ");
  if ((kind === "names" || kind === "checks") && Array.isArray(value)) return value.map(itemText).join("\n");
  return treeText(value);
}

function itemText(item: RawJson): string {
  if (isRawNumber(item)) return item.rawJSON;
  return typeof item === "string" ? item : treeText(item);
}

/** What a field accepts, in words; empty if its description already says so. */
export function acceptedText({ kind, bounds }: Pick<Field, "kind" | "bounds">): string {
  if (kind === "names") return "One per line.";
  const words = { integer: "An integer", number: "A number", numbers: "Comma-separated integers" }[
    kind as string
  ];
  if (words === undefined) return "";
  const { minimum: least, maximum: most, exclusiveMinimum: above, exclusiveMaximum: below } = bounds;
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
export function placeholderText({
  byDefault,
  description,
}: Pick<Field, "byDefault" | "description">): string | undefined {
  return byDefault === undefined ? /; (\d+) by default\./.exec(description)?.[1] : defaultText(byDefault);
}

/** A default as shown to a reader: a text without its quotes, a list without its brackets. */
export function defaultText(byDefault: string): string {
  const value: unknown = JSON.parse(byDefault);
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "number" ? shown(value) : String(value);
}

/** Integers with commas; other numbers in JavaScript notation. */
function shown(number: number): string {
  return Number.isSafeInteger(number) ? number.toLocaleString("en-US") : String(number);
}
