import { show } from "../errors/faults.ts";
import type { Warning } from "../problems/warnings.ts";
import type { Choice } from "./choice/candidates.ts";
import { resolveDlChoice } from "./choice/dl-candidates.ts";
import { dlConfigSchema } from "./dl-config.ts";
import { type Intervals, intervalsAskedFor, type ScalerName } from "./intervals.ts";
import { checkNetworkSize, networkFaults } from "./networks/network-faults.ts";
import { LOSS_TYPES, NETWORKS, type NetworkSpec, networkOf, type TrainingSpec } from "./networks/networks.ts";
import type { PanelSettings, ShrinkageChoice } from "./panel-settings.ts";
import { type NoField, parseConfig, SECTION_KEYS } from "./parse-config.ts";
import { type RefitSettings, refitSettings } from "./refit-settings.ts";

/** A config of run_dl_job with every default filled in. */
export interface DlSettings extends PanelSettings, RefitSettings {
  /** False: the job succeeds without training. */
  readonly enabled: boolean;
  readonly network: NetworkSpec;
  readonly training: TrainingSpec;
  /** The number of networks per ticker, or for all, whose mean is the forecast. */
  readonly ensemble: number;
  readonly scaler: Exclude<ScalerName, "none">;
  /** The number of rows in a window. */
  readonly lookback: number;
  /** As in the config: auto, cpu, cuda or cuda:N. */
  readonly device: string;
  readonly seed: number;
  /** Absent if the job makes no intervals. */
  readonly intervals?: Intervals;
  readonly shrinkage: ShrinkageChoice;
  /** Whether a part of the windows is set aside that neither training nor early stopping nor a choice sees. */
  readonly calibrates: boolean;
  /** Absent if the job tries no other candidates. */
  readonly choice?: Choice<DlSettings>;
  /** True: one network learns from all tickers. False: one network per ticker. */
  readonly joint: boolean;
}

/** Minimum number of columns of a ticker: a network that is too large with these is refused before a blob is read. */
const MIN_FEATURES = 1;

/**
 * Reads the config of run_dl_job from its JSON text.
 * @returns the settings; warnings `ignored_section` and `unknown_loss_type`.
 * @throws MucastError invalid_request or too_large.
 */
export function parseDlSettings(text: string): { settings: DlSettings; warnings: readonly Warning[] } {
  const { value, warnings } = parseConfig(text, dlConfigSchema, SECTION_KEYS.run_dl_job, networkFaults);
  const prediction = value["NN params"]["Dot prediction"];
  const {
    status,
    "current option": architecture,
    models_params: entries,
    intervals,
    shrinkage,
    delay,
    target,
    cross_section,
    refit_every,
    window,
    choice: givenChoice,
    ...sections
  } = prediction;
  const { global_settings, data_processing, training_params, ...otherSections } = sections;
  const { device, seed, ...otherGlobals } = global_settings;
  const { scaler, lookback, batch_size, ...otherProcessing } = data_processing;
  otherSections satisfies NoField;
  otherGlobals satisfies NoField;
  otherProcessing satisfies NoField;
  const { loss_type, ensemble, ...training } = training_params;
  const known = LOSS_TYPES.find((name) => name === loss_type);
  const settings: DlSettings = {
    enabled: status,
    network: networkOf(architecture, entries),
    training: { ...training, batch_size, loss: known ?? "mse" },
    ensemble,
    scaler,
    lookback,
    device,
    seed,
    ...intervalsAskedFor(intervals),
    shrinkage,
    delay,
    target,
    crossSection: cross_section,
    ...refitSettings(refit_every, window),
    calibrates: intervalsAskedFor(intervals).intervals !== undefined || givenChoice !== undefined,
    joint: NETWORKS[architecture].joint,
  };
  checkNetworkSize(settings, MIN_FEATURES);
  const own = known === undefined ? [...warnings, unknownLoss(loss_type)] : warnings;
  if (givenChoice === undefined) return { settings, warnings: own };
  const found = resolveDlChoice(givenChoice, text, settings, parseDlSettings);
  const candidates = found.choice.candidates.map((candidate) => ({
    ...candidate,
    settings: { ...candidate.settings, calibrates: true },
  }));
  return {
    settings: { ...settings, choice: { ...found.choice, candidates } },
    warnings: [...own, ...found.warnings],
  };
}

function unknownLoss(value: unknown): Warning {
  return {
    code: "unknown_loss_type",
    message:
      `config.NN params.Dot prediction.training_params.loss_type: ${show(value)} is not known, so mse is used; ` +
      `known: ${LOSS_TYPES.join(", ")}`,
  };
}
