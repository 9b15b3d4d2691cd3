import { type RawNumber, rawNumber } from "../json/json-text.ts";
import type { Warning } from "../problems/warnings.ts";
import type { Library } from "./models.ts";

/** The arguments that mucast adds to a constructor's, by the catalogue's names. */
interface Additions {
  /** The argument for the number of threads. */
  readonly threads: string;
  /** The argument for the seed. */
  readonly seed: string;
  /** Keeps the library silent; added if the caller gives none of the arguments in `unless`. */
  readonly silence?: { readonly name: string; readonly value: RawNumber | false; readonly unless: string[] };
  /** Set whatever the caller gives. */
  readonly fixed?: Readonly<Record<string, false>>;
}

const SEED = 42;

const ADDITIONS: Record<Library, Additions> = {
  sklearn: { threads: "n_jobs", seed: "random_state" },
  xgboost: {
    threads: "n_jobs",
    seed: "random_state",
    silence: { name: "verbosity", value: rawNumber("0"), unless: [] },
  },
  lightgbm: {
    threads: "n_jobs",
    seed: "random_state",
    // The catalogue has one name for verbose and verbosity, so either keeps mucast from adding this.
    silence: { name: "verbose", value: rawNumber("-1"), unless: ["verbosity"] },
  },
  catboost: {
    threads: "thread_count",
    seed: "random_seed",
    // catboost accepts only one of the three.
    silence: { name: "verbose", value: false, unless: ["silent", "logging_level"] },
    fixed: { allow_writing_files: false },
  },
};

/**
 * Adds, in place, the arguments of every fit: one thread; a seed and silence if the caller gives none.
 *
 * There is one thread because several would sum in another order, and results would depend on the machine.
 *
 * @param params arguments under the catalogue's names, as a `rawNumbers` tree, in the caller's order.
 * @param takes whether the constructor has an argument of that name.
 * @param given the caller's name of each argument, for the warning.
 */
export function addDefaults(
  library: Library,
  params: Map<string, unknown>,
  takes: (name: string) => boolean,
  given: ReadonlyMap<string, string>,
): Warning[] {
  const { threads, seed, silence, fixed } = ADDITIONS[library];
  const warnings: Warning[] = [];
  if (takes(threads)) {
    const asked = params.get(threads);
    if (asked !== undefined && asked !== null && JSON.stringify(asked) !== "1") {
      warnings.push({
        code: "threads_capped",
        message: `${given.get(threads) ?? threads}: ${JSON.stringify(asked)} was replaced by 1; a fit uses one thread, and the fits run side by side`,
      });
    }
    params.set(threads, rawNumber("1"));
  }
  if (takes(seed) && !params.has(seed)) params.set(seed, rawNumber(String(SEED)));
  if (silence !== undefined && ![silence.name, ...silence.unless].some((name) => params.has(name)))
    params.set(silence.name, silence.value);
  for (const [name, value] of Object.entries(fixed ?? {})) params.set(name, value);
  return warnings;
}
