import { isRawNumber } from "../json/json-text.ts";

/** Type of a JSON value as Python reads its text: `1` is an int, `1.0` and `1e3` are floats. */
type JsonType = "null" | "bool" | "int" | "float" | "string" | "list" | "object";

/** What a parameter accepts: a type, or one of two special cases that libraries accept. */
export type AcceptedType =
  | JsonType
  /** A float without a fraction, such as `6.0`, if an integer is meant. */
  | "whole"
  /** A string that holds a number. */
  | "number_text";

const INTEGER = /^-?\d+$/;
const NUMBER_TEXT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** @param raw a value of a `rawNumbers` tree. */
export function jsonType(raw: unknown): JsonType {
  if (raw === null) return "null";
  if (isRawNumber(raw)) return INTEGER.test(raw.rawJSON) ? "int" : "float";
  if (Array.isArray(raw)) return "list";
  if (typeof raw === "boolean") return "bool";
  return typeof raw === "string" ? "string" : "object";
}

/** Whether a parameter with these types accepts this value of a `rawNumbers` tree. */
export function hasType(raw: unknown, accepted: readonly AcceptedType[]): boolean {
  const type = jsonType(raw);
  if (accepted.includes(type)) return true;
  if (accepted.includes("number_text") && typeof raw === "string") return NUMBER_TEXT.test(raw);
  return accepted.includes("whole") && isRawNumber(raw) && Number.isInteger(Number(raw.rawJSON));
}

/** Every string inside a value of a `rawNumbers` tree, keys included. */
export function stringsOf(raw: unknown): string[] {
  if (typeof raw === "string") return [raw];
  const type = jsonType(raw);
  if (type === "list") return (raw as unknown[]).flatMap(stringsOf);
  if (type !== "object") return [];
  return Object.entries(raw as object).flatMap(([key, value]) => [key, ...stringsOf(value)]);
}

const WORDS: Record<AcceptedType, string> = {
  null: "null",
  bool: "true or false",
  int: "an integer",
  float: "a number",
  string: "a string",
  list: "a list",
  object: "an object",
  whole: "an integer",
  number_text: "a number in a string",
};

/** The accepted types as text for a message, without those that Python accepts only leniently. */
export function inWords(accepted: readonly AcceptedType[]): string {
  const advertised = accepted.filter(
    (type) =>
      type !== "whole" &&
      type !== "number_text" &&
      !(type === "int" && accepted.includes("float")) &&
      !(type === "bool" && accepted.includes("int")),
  );
  return advertised.map((type) => WORDS[type]).join(" or ");
}
