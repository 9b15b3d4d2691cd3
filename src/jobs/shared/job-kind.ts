import type { PanelSettings, RefitSettings, ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import type { RunSummary } from "../../contract/output/job-events.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { JobEnvironment } from "../../engine/environment/environment.ts";
import type { IntervalChoice } from "../../evaluate/intervals/ticker-intervals.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import type { Exposures, HeldOutSet } from "./evaluate-forecasts.ts";
import type { JobContext, JobEngine, JobRequest } from "./job.ts";
import type { JobFits } from "./job-document.ts";
import type { PreviewedConfig } from "./job-preview.ts";
import type { Listed } from "./listed-warnings.ts";
import type { OrderedJson } from "./ordered-json.ts";
import type { Inputs } from "./read-inputs.ts";

/** The settings that both jobs have. */
export interface CommonSettings extends PanelSettings, RefitSettings {
  readonly intervals?: IntervalChoice;
  readonly shrinkage: ShrinkageChoice;
}

/** What reading the blobs and fitting their tickers gave. */
export interface ReadAndFitted {
  readonly inputs: Inputs;
  readonly fits: JobFits;
  /** The rows before the score rows by which the forecasts are judged. */
  readonly rows: HeldOutSet["rows"];
  /** The blocks of score rows. */
  readonly blocks: readonly RefitBlock[];
  /** Absent for too few tickers. */
  readonly exposures: Exposures | undefined;
  /** Of the models and of all tickers together. */
  readonly warnings: readonly Warning[];
  readonly listed: readonly Listed[];
  /** `cpu` or `cuda:N`; `none` if no model was fitted. */
  readonly device: string;
}

/** What tells one job from the other. */
export interface JobKind<S extends CommonSettings> {
  readonly environment: JobEnvironment;
  /** @throws MucastError invalid_request, unknown_model, invalid_model_params, device_unavailable or too_large. */
  parse(config: string): { readonly settings: S; readonly warnings: readonly Warning[] };
  /** Modules that the fits import; undefined if nothing is fitted. */
  libraries(settings: S): readonly string[] | undefined;
  /**
   * Reads both blobs and fits every model. @param engine undefined if nothing is fitted.
   * @throws MucastError of reading, planning and fitting, once nothing is running.
   */
  fit(
    request: JobRequest,
    context: JobContext,
    settings: S,
    engine: JobEngine | undefined,
  ): Promise<ReadAndFitted>;
  /** The settings as the output records them. */
  recorded(settings: S): OrderedJson;
  /** Of the config itself, then of each candidate if there are several. */
  candidates(settings: S): readonly S[];
  seed(settings: S): OrderedJson;
  model(settings: S): string;
  fitKind(settings: readonly S[]): RunSummary["fit"];
  readonly preview: (config: string) => PreviewedConfig;
}
