import { z } from "zod";
import { show, valueAt } from "../errors/faults.ts";
import { type RawJson, type RawObject, rawNumbers } from "../json/json-text.ts";
import type { Warning } from "../problems/warnings.ts";
import * as s from "../schema/open-schema.ts";
import { type Choice, readCandidates } from "./candidates.ts";
import { dlChoiceSchema } from "./choice-config.ts";
import { LIMITS } from "./limits.ts";
import {
  ARCHITECTURES,
  type Architecture,
  architecturesOf,
  checkNetworkSize,
  LOSS_TYPES,
  lookbackSchema,
  NETWORKS,
  type NetworkSpec,
  networkFaults,
  networkOf,
  type TrainingSpec,
  trainingParamsSchema,
} from "./networks.ts";
import { intervalsSchema, panelFields, SCALERS, shrinkageSchema } from "./panel-settings.ts";
import { isObject, parseConfig } from "./parse-config.ts";

const modelsParamsSchema = z
  .strictObject(
    Object.fromEntries(
      ARCHITECTURES.map((architecture) => [architecture, NETWORKS[architecture].entry.optional()]),
    ) as { [A in Architecture]: z.ZodOptional<(typeof NETWORKS)[A]["entry"]> },
  )
  .describe("Hyperparameters by architecture; only the entry of `current option` is used.");

const dataProcessingSchema = z.strictObject({
  scaler: z.enum(SCALERS).exclude(["none"]).default("robust"),
  lookback: lookbackSchema,
  batch_size: s.integer(1, LIMITS.batchSize).default(64),
});

const globalSettingsSchema = z.strictObject({
  device: s.byDefault(
    z.string().regex(/^(auto|cpu|cuda(:\d{1,3})?)$/, "must be auto, cpu, cuda or cuda:N"),
    "auto",
    "auto, cpu, cuda or cuda:N.",
  ),
  seed: s.integer(0, Number.MAX_SAFE_INTEGER).default(42),
});

/** `Dot prediction` of run_dl_job's config, as the caller writes it. docs/config.md has a row for each field. */
export const dotPredictionSchema = z
  .strictObject({
    status: s.byDefault(z.boolean(), true, "If false, the job succeeds without training."),
    "current option": z
      .enum(ARCHITECTURES)
      .describe(
        `${architecturesOf({ joint: false }).join(", ")}: one network per ticker; portfolio_*: one network for all tickers.`,
      ),
    global_settings: globalSettingsSchema.prefault({}),
    data_processing: dataProcessingSchema.prefault({}),
    training_params: trainingParamsSchema.prefault({}),
    models_params: modelsParamsSchema.prefault({}),
    intervals: intervalsSchema.optional(),
    shrinkage: shrinkageSchema,
    ...panelFields,
    window: s.optional(
      z.int().min(LIMITS.leastNetworkWindow).max(LIMITS.window),
      "Each network learns only from its last `window` label dates, including validation and calibration. Without it, each network learns from all.",
    ),
    choice: dlChoiceSchema.optional(),
  })
  .refine(
    ({ smoothing, intervals, choice }) => !smoothing || intervals !== undefined || choice !== undefined,
    {
      path: ["smoothing"],
      error:
        "networks are smoothed from their calibration part on, and without intervals there is none; add intervals",
    },
  );

/** Config of run_dl_job. Sections of other services next to `Dot prediction` are ignored, with a warning. */
export const dlConfigSchema = z
  .looseObject({ "NN params": z.looseObject({ "Dot prediction": dotPredictionSchema }) })
  .meta({ id: "DlConfig", title: "Config of run_dl_job" });

type DotPrediction = z.infer<typeof dotPredictionSchema>;

const SECTIONS = ["training_params", "data_processing", "models_params"] as const;
type Section = (typeof SECTIONS)[number];

export interface DlSettings
  extends Readonly<Omit<DotPrediction, "current option" | "global_settings" | "choice" | Section>>,
    Readonly<z.infer<typeof globalSettingsSchema>>,
    Readonly<Omit<z.infer<typeof dataProcessingSchema>, "batch_size">> {
  readonly network: NetworkSpec;
  readonly training: TrainingSpec;
  /** The number of networks per ticker, or for all, whose mean is the forecast. */
  readonly ensemble: number;
  /** Whether a part of the windows is set aside that neither training nor early stopping nor a choice sees. */
  readonly calibrates: boolean;
  readonly joint: boolean;
  readonly choice?: Choice<DlSettings>;
}

interface Parsed {
  readonly settings: DlSettings;
  readonly warnings: readonly Warning[];
}

/** Minimum number of columns of a ticker: a network that is too large with these is refused before a blob is read. */
const MIN_FEATURES = 1;

/**
 * Reads the config of run_dl_job from its JSON text.
 * @returns the settings; warnings `ignored_section` and `unknown_loss_type`.
 * @throws MucastError invalid_request or too_large.
 */
export function parseDlSettings(text: string): Parsed {
  const { value, warnings } = parseConfig(text, dlConfigSchema, "run_dl_job", networkFaults);
  const {
    "current option": architecture,
    global_settings,
    data_processing: { batch_size, ...windows },
    training_params: { loss_type, ensemble, ...training },
    models_params,
    choice,
    ...others
  } = value["NN params"]["Dot prediction"];
  const loss = LOSS_TYPES.find((name) => name === loss_type);
  const settings: DlSettings = {
    ...{ ...others, ...global_settings, ...windows },
    network: networkOf(architecture, models_params),
    training: { ...training, batch_size, loss: loss ?? "mse" },
    ensemble,
    calibrates: others.intervals !== undefined || choice !== undefined,
    joint: NETWORKS[architecture].joint,
  };
  checkNetworkSize(settings, MIN_FEATURES);
  const unknownLoss: Warning = {
    code: "unknown_loss_type",
    message:
      `config.NN params.Dot prediction.training_params.loss_type: ${show(loss_type)} is not known, so mse is used; ` +
      `known: ${LOSS_TYPES.join(", ")}`,
  };
  const parsed = { settings, warnings: loss === undefined ? [...warnings, unknownLoss] : warnings };
  return choice === undefined ? parsed : withChoice(parsed, choice, text);
}

function withChoice(
  { settings: own, warnings }: Parsed,
  given: NonNullable<DotPrediction["choice"]>,
  text: string,
): Parsed {
  // The smoothing of a candidate alone would require intervals.
  const {
    choice,
    smoothing: _,
    ...base
  } = valueAt(rawNumbers(text), ["NN params", "Dot prediction"]) as RawObject;
  const found = readCandidates(given, (choice as RawObject).candidates as readonly RawObject[], {
    section: "config.NN params.Dot prediction",
    own,
    nameOf: ({ network }) => network.architecture,
    resolve(sets, point) {
      const architecture = String(sets["current option"] ?? base["current option"]);
      const searched = sectionsOf(point, architecture);
      const merged = SECTIONS.map((name) => [name, mergeSections(base[name], sets[name], searched[name])]);
      const prediction = { ...base, ...sets, ...Object.fromEntries(merged) };
      const config = JSON.stringify({ "NN params": { "Dot prediction": prediction } });
      const { settings, warnings } = parseDlSettings(config);
      return { settings: { ...settings, calibrates: true, smoothing: own.smoothing }, warnings };
    },
    valuesOf: ({ training_params, data_processing, models_params }, { network: { architecture } }) => ({
      ...training_params,
      ...data_processing,
      ...models_params?.[architecture],
    }),
    identity: ["network", "training", "ensemble", "scaler", "lookback", "target", "cross_section"],
  });
  return { settings: { ...own, choice: found.choice }, warnings: [...warnings, ...found.warnings] };
}

/** The values of a search in the sections that their names belong to: no name is in two. */
function sectionsOf(
  point: ReadonlyMap<string, RawJson>,
  architecture: string,
): { readonly [S in Section]?: RawObject } {
  const values = [...point];
  const of = (shape: object) => values.filter(([name]) => Object.hasOwn(shape, name));
  const training = of(trainingParamsSchema.shape);
  const data = of(dataProcessingSchema.shape);
  const size = values.filter((value) => !training.includes(value) && !data.includes(value));
  return {
    training_params: Object.fromEntries(training),
    data_processing: Object.fromEntries(data),
    ...(size.length > 0 && { models_params: { [architecture]: Object.fromEntries(size) } }),
  };
}

/** Later sections replace the members of earlier ones; the entries of `models_params` are merged as well. */
function mergeSections(...sections: readonly (RawJson | undefined)[]): RawObject {
  const whole: Record<string, RawJson> = {};
  for (const section of sections) {
    for (const [name, value] of Object.entries((section ?? {}) as RawObject)) {
      const earlier = whole[name];
      whole[name] = isSection(value) && isSection(earlier) ? { ...earlier, ...value } : value;
    }
  }
  return whole;
}

function isSection(value: RawJson | undefined): value is RawObject {
  return isObject(value) && !("rawJSON" in value);
}
