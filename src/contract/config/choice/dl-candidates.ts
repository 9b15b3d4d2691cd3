import { MucastError } from "../../errors/errors.ts";
import { canonicalJson, type RawJson, type RawObject, rawNumbers } from "../../json/json-text.ts";
import type { Warning } from "../../problems/warnings.ts";
import { dataProcessingSchema } from "../dl-config.ts";
import type { DlSettings } from "../dl-settings.ts";
import { settingPath } from "../networks/network-encoders.ts";
import { trainingParamsSchema } from "../networks/networks.ts";
import type { SearchPoint } from "./candidate-search.ts";
import { type Choice, namedValues, readCandidates, withFaults } from "./candidates.ts";
import type { DlCandidate, DlChoice } from "./choice-config.ts";

/** Reads a config of run_dl_job without `choice`. @throws MucastError of its settings. */
type ReadSettings = (text: string) => {
  readonly settings: DlSettings;
  readonly warnings: readonly Warning[];
};

/**
 * The candidates of a checked `choice` of run_dl_job. A candidate is the config itself with the members that its entry sets.
 * @param text of the whole config.
 * @throws MucastError invalid_request, with the faults of all candidates; for too many or equal ones too.
 */
export function resolveDlChoice(
  { candidates: entries, rule, measure, seed }: DlChoice,
  text: string,
  own: DlSettings,
  readSettings: ReadSettings,
): { readonly choice: Choice<DlSettings>; readonly warnings: readonly Warning[] } {
  const { choice, ...base } = predictionOf(rawNumbers(text));
  const raw = (choice as { readonly candidates: readonly RawObject[] }).candidates;
  const { candidates, warnings } = readCandidates(entries, raw, seed, {
    path: settingPath("choice"),
    own: { settings: own, name: own.network.architecture },
    resolve: (_, entry, point, path) => withEntry(base, entry, point, path, readSettings),
    partsOf,
    identityOf,
  });
  return { choice: { rule, measure, seed, candidates }, warnings };
}

function predictionOf(config: unknown): RawObject {
  return (config as Record<string, Record<string, RawObject>>)["NN params"]!["Dot prediction"]!;
}

/** Members of an entry that replace those of the config as they are; the others are sections, which are merged. */
const REPLACED = ["current option", "target", "cross_section"] as const;

const SECTIONS = ["training_params", "data_processing", "models_params"] as const;

function withEntry(
  base: RawObject,
  entry: RawObject,
  point: SearchPoint,
  path: string,
  readSettings: ReadSettings,
) {
  const architecture = String(entry["current option"] ?? base["current option"]);
  const searched = sectionsOf(point, architecture);
  const prediction = {
    ...base,
    ...Object.fromEntries(REPLACED.flatMap((name) => (name in entry ? [[name, entry[name]!]] : []))),
    ...Object.fromEntries(
      SECTIONS.map((name) => [name, mergedSections(base[name], entry[name], searched[name])]),
    ),
  };
  try {
    return readSettings(JSON.stringify({ "NN params": { "Dot prediction": prediction } }));
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    const faults = error.data.faults ?? [{ path: error.data.path ?? path, message: error.message }];
    const prefix = "config.NN params.Dot prediction";
    throw withFaults(
      error,
      faults.map((fault) => ({ ...fault, path: fault.path.replace(prefix, path) })),
    );
  }
}

type Sections = Readonly<Record<(typeof SECTIONS)[number], RawObject>>;

/** The values of a search in the sections that their names belong to: no name is in two. */
function sectionsOf(point: SearchPoint, architecture: string): Sections {
  const of = (isIn: (name: string) => boolean) =>
    Object.fromEntries([...point].filter(([name]) => isIn(name)));
  const isTraining = (name: string) => Object.hasOwn(trainingParamsSchema.shape, name);
  const isData = (name: string) => Object.hasOwn(dataProcessingSchema.shape, name);
  const size = of((name) => !isTraining(name) && !isData(name));
  return {
    training_params: of(isTraining),
    data_processing: of(isData),
    models_params: Object.keys(size).length === 0 ? {} : { [architecture]: size },
  };
}

/** Later sections replace the members of earlier ones; the entries of `models_params` are merged as well. */
function mergedSections(...sections: readonly (RawJson | undefined)[]): RawObject {
  const whole: Record<string, RawJson> = {};
  for (const section of sections) {
    for (const [name, value] of Object.entries((section ?? {}) as RawObject)) {
      const earlier = whole[name];
      whole[name] = isPlain(value) && isPlain(earlier) ? { ...earlier, ...value } : value;
    }
  }
  return whole;
}

function isPlain(value: RawJson | undefined): value is RawObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !("rawJSON" in value);
}

function partsOf(
  entry: DlCandidate,
  { network, target, crossSection }: DlSettings,
  point: SearchPoint,
): string[] {
  const { training_params: training, data_processing: data, models_params: sizes } = entry;
  return [
    network.architecture,
    ...(entry.target === undefined ? [] : [target]),
    ...(entry.cross_section === undefined ? [] : [crossSection ? "cross_section" : "no cross_section"]),
    ...namedValues({ ...training, ...data, ...sizes?.[network.architecture] }, point),
  ];
}

/** A text that is equal for settings that give the same forecasts. */
function identityOf({
  network,
  training,
  ensemble,
  scaler,
  lookback,
  target,
  crossSection,
}: DlSettings): string {
  return canonicalJson({ network, training, ensemble, scaler, lookback, target, crossSection });
}
