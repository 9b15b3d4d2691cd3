import type { ScalerName } from "../../contract/config/intervals.ts";
import type { TrainingSpec } from "../../contract/config/networks.ts";
import { LIBRARY_TITLES, type Library } from "../../contract/model-params/models.ts";
import { engineEnvironment } from "./engine-variables.ts";
import type { EnvironmentFlavour } from "./environment.ts";
import { type CommandEnd, runCommand } from "./run-command.ts";

const CLASSICAL = Object.keys(LIBRARY_TITLES);
const NETWORKS = ["torch", "sklearn"];

/** The modules of each environment. */
export const LIBRARIES: Readonly<Record<EnvironmentFlavour, readonly string[]>> = {
  ml: CLASSICAL,
  dl: NETWORKS,
  ray: [...CLASSICAL, "torch", "ray"],
  dev: [...CLASSICAL, "torch", "ray"],
  lint: [],
};

/** What `mucast_engine.status` prints. */
export interface ImportedLibraries {
  readonly python: string;
  /** Version of each library, or why it cannot be imported. */
  readonly libraries: Readonly<Record<string, { readonly version?: string; readonly fault?: string }>>;
  /** CUDA devices. */
  readonly devices: readonly string[];
}

/** Imports the libraries of a flavour once, in a separate process that prints `ImportedLibraries`. Never rejects. */
export function importLibraries(python: string, flavour: EnvironmentFlavour): Promise<CommandEnd> {
  const module = ["-s", "-P", "-m", "mucast_engine.status"];
  return runCommand(python, [...module, ...LIBRARIES[flavour]], engineEnvironment());
}

/** The modules that run_ml_job needs: the regressor's library, and scikit-learn for a scaler. */
export function regressorLibraries(library: Library, scaler: ScalerName): Library[] {
  return library === "sklearn" || scaler === "none" ? [library] : [library, "sklearn"];
}

/** The modules that run_dl_job needs; scikit-learn estimates the covariance of a joint network's loss. */
export function networkLibraries(settings: {
  joint: boolean;
  training: Pick<TrainingSpec, "loss">;
}): string[] {
  return settings.joint && settings.training.loss === "mahalanobis" ? ["torch", "sklearn"] : ["torch"];
}
