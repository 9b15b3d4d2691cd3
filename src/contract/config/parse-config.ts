import type { z } from "zod";
import { type Fault, MucastError } from "../errors/errors.ts";
import { faultsOf, invalidRequest, joinPath, knownKeys, show, unknownKey } from "../errors/faults.ts";
import { MAX_JSON_DEPTH, parseJson, scanJson, withoutByteOrderMark } from "../json/json-text.ts";
import type { Warning } from "../problems/warnings.ts";
import type { Operation } from "./job-operations.ts";
import { LIMITS } from "./limits.ts";
import { deleteRemoved } from "./removed-settings.ts";

/**
 * The fields of a config section that its settings do not use. A field that the schema has and the settings do not name is a compile error
 * at `satisfies NoField`.
 */
export type NoField = Readonly<Record<string, never>>;

/** A config that passed its schema, and the warnings of sections that belong to other services. */
interface CheckedConfig<T> {
  readonly value: T;
  readonly warnings: readonly Warning[];
}

/**
 * Reads a config's JSON text and checks it against its schema. One error contains every fault.
 *
 * @param wanted keys on the way to the job's own section: `["ML params"]` or `["NN params", "Dot prediction"]`. An object next to these is
 * another service's section and causes the warning `ignored_section`; any other value is an unknown key.
 * @param more finds faults that no schema can express. It gets the unchecked config, so that one error contains these faults too, and the
 * faults found so far.
 * @throws MucastError `too_large` over 32 KiB, `invalid_request` with every fault otherwise.
 */
export function parseConfig<T>(
  text: string,
  schema: z.ZodType<T>,
  wanted: readonly string[],
  more: (config: unknown, found: readonly Fault[]) => readonly Fault[] = () => [],
): CheckedConfig<T> {
  const bytes = Buffer.byteLength(text);
  if (bytes > LIMITS.configBytes) {
    throw new MucastError(
      "too_large",
      `config has ${bytes} bytes; at most ${LIMITS.configBytes} are accepted`,
      {
        path: "config",
        value: bytes,
      },
    );
  }
  const given = parseJson(text);
  deleteRemoved(given);
  const lacking = lackingSection(given, schema, wanted);
  const plain = lacking?.wrapped ?? given;
  const beside = sectionsBeside(plain, wanted);
  const parsed = schema.safeParse(plain);
  const found = [
    ...(lacking === undefined ? [] : [lacking.fault]),
    ...(parsed.success ? [] : faultsOf(parsed.error, schema, "config", plain)),
    ...beside.faults,
  ];
  const faults = [...found, ...more(plain, found)];
  if (!parsed.success || faults.length > 0) throw invalidRequest(faults);
  return { value: parsed.data, warnings: beside.warnings };
}

/**
 * The fault of a config that has the keys of an inner section at its top, and the config with these keys moved into their section, so that
 * the error includes their faults too.
 */
function lackingSection(
  plain: unknown,
  schema: z.ZodType,
  wanted: readonly string[],
): { readonly fault: Fault; readonly wrapped: unknown } | undefined {
  if (!isObject(plain) || Object.hasOwn(plain, wanted[0]!)) return undefined;
  const names = Object.keys(plain);
  const outer = wanted.map((_, i) => wanted.slice(0, i + 1)).find((path) => knownIn(schema, path, names));
  if (outer === undefined) return undefined;
  const text = outer.reduceRight((inner, key) => `{${JSON.stringify(key)}: ${inner}}`, "{…}");
  const message = `is required; put ${listed(names)} inside it: ${text}`;
  const wrapped = outer.reduceRight<unknown>((inner, key) => ({ [key]: inner }), plain);
  return { fault: { path: joinPath("config", [wanted[0]!]), message }, wrapped };
}

/** Whether one of these names is a key of the section at `path`. */
function knownIn(schema: z.ZodType, path: readonly string[], names: readonly string[]): boolean {
  const known = knownKeys(schema, path);
  return names.some((name) => known.includes(name));
}

const NAMES_SHOWN = 5;

function listed(names: readonly string[]): string {
  const text = names.slice(0, NAMES_SHOWN).map(show).join(", ");
  return names.length > NAMES_SHOWN ? `${text} and ${names.length - NAMES_SHOWN} more` : text;
}

function sectionsBeside(plain: unknown, wanted: readonly string[]): { warnings: Warning[]; faults: Fault[] } {
  const warnings: Warning[] = [];
  const faults: Fault[] = [];
  let here = plain;
  for (const [depth, key] of wanted.entries()) {
    if (!isObject(here)) break;
    for (const [name, value] of Object.entries(here)) {
      if (name === key) continue;
      const path = joinPath("config", [...wanted.slice(0, depth), name]);
      if (isObject(value) && Object.hasOwn(here, key)) {
        warnings.push({
          code: "ignored_section",
          message: `${path} belongs to another service and was ignored`,
        });
      } else if (!isObject(value)) {
        const { message, ...rest } = unknownKey(path, name, [key]);
        faults.push({ ...rest, message: `${message}; its value is ${show(value)}` });
      }
    }
    here = here[key];
  }
  return { warnings, faults };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The keys on the way to a job's section in its config. */
export const SECTION_KEYS = {
  run_ml_job: ["ML params"],
  run_dl_job: ["NN params", "Dot prediction"],
} as const satisfies Record<Operation, readonly [string, ...string[]]>;

/**
 * The text of the job's own section in its config: the value of `ML params` or `NN params`, as the caller wrote it. Sections next to `Dot
 * prediction` belong to other services and may contain their secrets: each becomes `{}`.
 *
 * @param text of a config that the job's parser accepted.
 */
export function ownSection(text: string, operation: Operation): string {
  const [section, ...inner] = SECTION_KEYS[operation];
  const value = membersOf(withoutByteOrderMark(text)).get(section)!;
  return withoutForeign(value, inner);
}

function withoutForeign(text: string, [own]: readonly string[]): string {
  if (own === undefined) return text;
  const members = membersOf(text);
  if (members.size === 1) return text;
  const kept = [...members].map(([key, value]) => `${JSON.stringify(key)}: ${key === own ? value : "{}"}`);
  return `{${kept.join(", ")}}`;
}

/** The text of each member of an object by its key. */
function membersOf(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  scanJson(text, "config", MAX_JSON_DEPTH, members);
  return members;
}
