import type { z } from "zod";
import { type Fault, fault, MucastError } from "../errors/errors.ts";
import {
  faultsOf,
  invalidRequest,
  joinPath,
  knownKeys,
  show,
  unknownKey,
  valueAt,
} from "../errors/faults.ts";
import { membersOf, parseJson } from "../json/json-text.ts";
import type { Warning } from "../problems/warnings.ts";
import type { Operation } from "./job-operations.ts";
import { LIMITS } from "./limits.ts";

export const SECTION_KEYS = {
  run_ml_job: ["ML params"],
  run_dl_job: ["NN params", "Dot prediction"],
} as const satisfies Record<Operation, readonly [string, ...string[]]>;

/**
 * Reads a config's JSON text and checks it against its schema. One error contains every fault.
 *
 * An object next to the job's section is another service's section and causes the warning `ignored_section`; any other value there is an
 * unknown key.
 * @param more finds faults that no schema can express. It gets the unchecked config, so that one error contains these faults too, and the
 * faults found so far.
 * @throws MucastError `too_large` over 32 KiB, `invalid_request` with every fault otherwise.
 */
export function parseConfig<S extends z.ZodType>(
  text: string,
  schema: S,
  operation: Operation,
  more: (config: unknown, found: readonly Fault[]) => readonly Fault[] = () => [],
): { readonly value: z.output<S>; readonly warnings: readonly Warning[] } {
  const bytes = Buffer.byteLength(text);
  if (bytes > LIMITS.configBytes) {
    const message = `config has ${bytes} bytes; at most ${LIMITS.configBytes} are accepted`;
    throw new MucastError("too_large", message, { path: "config", value: bytes });
  }
  const given = parseJson(text);
  deleteRemoved(given);
  const wanted = SECTION_KEYS[operation];
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
 * Settings of earlier versions by their keys from the top of the config, each with the value that asked for what happens without it, which is
 * still accepted.
 */
export const REMOVED_SETTINGS: readonly (readonly [
  path: readonly [string, ...string[]],
  harmless: unknown,
  why: string,
])[] = [
  [["ML params", "choice", "racing"], false, "every candidate is fitted on all folds"],
  [["ML params", "choice", "over"], "all", "the members are common to all tickers"],
  [["NN params", "Dot prediction", "refit_start"], "cold", "each network starts from random weights"],
];

/** Deletes the settings of earlier versions that are harmless. @throws MucastError invalid_request for the others. */
function deleteRemoved(config: unknown): void {
  const faults: Fault[] = [];
  for (const [path, harmless, why] of REMOVED_SETTINGS) {
    const value = valueAt(config, path);
    const message = `${show(value)} was removed in 0.3.0 (see CHANGELOG.md); leave it out: ${why}`;
    if (value === harmless)
      delete (valueAt(config, path.slice(0, -1)) as Record<string, unknown>)[path.at(-1)!];
    else if (value !== undefined) faults.push(fault(joinPath("config", path), message));
  }
  if (faults.length > 0) throw invalidRequest(faults);
}

const NAMES_SHOWN = 5;

/**
 * The fault of a config that has the keys of an inner section at its top, and the config with these keys moved into their section, so that
 * the error includes their faults too.
 */
function lackingSection(plain: unknown, schema: z.ZodType, wanted: readonly string[]) {
  if (!isObject(plain) || Object.hasOwn(plain, wanted[0]!)) return undefined;
  const names = Object.keys(plain);
  const outer = wanted
    .map((_, i) => wanted.slice(0, i + 1))
    .find((path) => knownKeys(schema, path).some((key) => names.includes(key)));
  if (outer === undefined) return undefined;
  const text = outer.reduceRight((inner, key) => `{${JSON.stringify(key)}: ${inner}}`, "{…}");
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : "";
  const listed = names.slice(0, NAMES_SHOWN).map(show).join(", ") + more;
  return {
    fault: fault(joinPath("config", [wanted[0]!]), `is required; put ${listed} inside it: ${text}`),
    wrapped: outer.reduceRight<unknown>((inner, key) => ({ [key]: inner }), plain),
  };
}

function sectionsBeside(plain: unknown, wanted: readonly string[]): { warnings: Warning[]; faults: Fault[] } {
  const warnings: Warning[] = [];
  const faults: Fault[] = [];
  for (const [depth, key] of wanted.entries()) {
    const here = valueAt(plain, wanted.slice(0, depth));
    if (!isObject(here)) break;
    for (const [name, value] of Object.entries(here)) {
      if (name === key) continue;
      const path = joinPath("config", [...wanted.slice(0, depth), name]);
      if (!isObject(value)) {
        const found = unknownKey(path, name, [key]);
        faults.push({ ...found, message: `${found.message}; its value is ${show(value)}` });
      } else if (Object.hasOwn(here, key)) {
        const message = `${path} belongs to another service and was ignored`;
        warnings.push({ code: "ignored_section", message });
      }
    }
  }
  return { warnings, faults };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The text of the job's own section in its config: the value of `ML params` or `NN params`, as the caller wrote it. Sections next to `Dot
 * prediction` belong to other services and may contain their secrets: each becomes `{}`.
 *
 * @param text of a config that the job's parser accepted.
 */
export function ownSection(text: string, operation: Operation): string {
  const [section, inner]: readonly string[] = SECTION_KEYS[operation];
  const value = membersOf(text).get(section!)!;
  const members = membersOf(value);
  if (inner === undefined || members.size === 1) return value;
  const kept = [...members].map(([key, held]) => `${JSON.stringify(key)}: ${key === inner ? held : "{}"}`);
  return `{${kept.join(", ")}}`;
}
