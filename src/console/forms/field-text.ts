import { isRawNumber, type RawJson, rawNumber } from "../../contract/json/json-text.ts";
import { readTree, treeText } from "./payload-tree.ts";
import type { Bounds, Field } from "./schema-fields.ts";

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

/** What a field accepts, in words: a range, and the default if it is empty. Empty if its description already says so. */
export function acceptedText(field: Field): string {
  return [rangeInWords(field), defaultInWords(field)].filter((words) => words !== "").join(" ");
}

function rangeInWords({ kind, bounds }: Field): string {
  const range = boundsInWords(bounds);
  switch (kind) {
    case "integer":
      return range === "" ? "An integer." : `An integer, ${range}.`;
    case "number":
      return range === "" ? "A number." : `A number, ${range}.`;
    case "numbers":
      return range === "" ? "Comma-separated integers." : `Comma-separated integers, each ${range}.`;
    case "names":
      return "One per line.";
    default:
      return "";
  }
}

function boundsInWords({ least, most, above, below }: Bounds): string {
  const isRange = least !== undefined && most !== undefined;
  const words = [
    isRange && `${shown(least)} to ${shown(most)}`,
    !isRange && least !== undefined && `at least ${shown(least)}`,
    above !== undefined && `above ${shown(above)}`,
    below !== undefined && `below ${shown(below)}`,
    !isRange && most !== undefined && `at most ${shown(most)}`,
  ];
  return words.filter((word) => word !== false).join(" and ");
}

function defaultInWords({ kind, byDefault }: Field): string {
  if (byDefault === undefined || kind === "choice" || kind === "flag" || kind === "json") return "";
  return `Default: ${defaultText(byDefault)}.`;
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
