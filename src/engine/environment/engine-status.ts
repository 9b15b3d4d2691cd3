import type { TrainingSpec } from "../../contract/config/networks.ts";
import type { ScalerName } from "../../contract/config/panel-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { LIBRARY_TITLES, type Library } from "../../contract/model-params/models.ts";
import { type CommandEnd, parseAnswer, runCommand } from "../process-output.ts";
import { engineEnvironment } from "./engine-variables.ts";
import {
  type EnvironmentFlavour,
  findEnvironment,
  namedPython,
  PYTHON_VARIABLE,
  SETUP_COMMANDS,
  type UserEnvironment,
} from "./environment.ts";

/**
 * Imports every library of an environment, and reports which can be imported. Never rejects.
 * @returns whether the jobs of the environment can run, and lines for people: where the engine is, which libraries it has, which are missing.
 */
export async function engineStatus(
  flavour: UserEnvironment,
): Promise<{ readonly ready: boolean; readonly lines: readonly string[] }> {
  let python: string;
  try {
    python = findEnvironment(flavour).python;
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    return { ready: false, lines: [`engine  none: ${error.message}`] };
  }
  const lines = [`engine  ${python}${namedPython() === undefined ? "" : `, named by ${PYTHON_VARIABLE}`}`];
  const missing = (what: string) => `missing: ${what}; ${remedy(flavour)}`;
  const { code, stdout, stderr } = await importLibraries(python, flavour);
  const imported = code === 0 ? (parseAnswer(stdout, "python") as ImportedLibraries | undefined) : undefined;
  if (imported === undefined) {
    const reason = stderr.trim().split("\n").at(-1) || "the interpreter printed no answer";
    return { ready: false, lines: [...lines, missing(reason)] };
  }
  lines.push(`python  ${imported.python}`);
  const faults: string[] = [];
  for (const [name, { version, fault }] of Object.entries(imported.libraries)) {
    lines.push(`        ${name} ${version ?? "missing"}`);
    if (fault !== undefined) faults.push(missing(`${name}: ${fault}`));
  }
  if (flavour !== "ml") {
    const devices = imported.cpu_only
      ? `none, this environment is for CPUs only; for GPUs, ${remedy("dl")}`
      : imported.devices.join(", ") || "none";
    lines.push(`        CUDA devices: ${devices}`);
  }
  return { ready: faults.length === 0, lines: [...lines, ...faults] };
}

/** The interpreter of every image; its Dockerfile names it in MUCAST_PYTHON. */
export const IMAGE_PYTHON = "/opt/engine/bin/python";

/**
 * What an operator does about a missing library. Set-up leaves an interpreter that MUCAST_PYTHON names unchanged. The images have the names of
 * their environments.
 */
function remedy(flavour: UserEnvironment): string {
  const command = `\`${SETUP_COMMANDS[flavour]}\``;
  switch (namedPython()) {
    case undefined:
      return `${command} installs what is needed`;
    case IMAGE_PYTHON:
      return `the image \`${flavour}\` of the Dockerfile has what is needed (docs/deploying.md)`;
    default:
      return `install what is needed there, or unset ${PYTHON_VARIABLE} and run ${command}`;
  }
}

const CLASSICAL = Object.keys(LIBRARY_TITLES);
const NETWORKS = ["torch", "sklearn"];

/** The modules of each environment. */
export const LIBRARIES: Readonly<Record<EnvironmentFlavour, readonly string[]>> = {
  ml: CLASSICAL,
  dl: NETWORKS,
  "dl-cpu": NETWORKS,
  ray: [...CLASSICAL, "torch", "ray"],
  dev: [...CLASSICAL, "torch", "ray"],
  lint: [],
};

/** What `mucast_engine.status` prints. */
interface ImportedLibraries {
  readonly python: string;
  /** Version of each library, or why it cannot be imported. */
  readonly libraries: Readonly<Record<string, { readonly version?: string; readonly fault?: string }>>;
  /** CUDA devices; none in an environment for CPUs only. */
  readonly devices: readonly string[];
  readonly cpu_only: boolean;
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
