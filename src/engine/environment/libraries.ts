import { engineEnvironment } from "../pool/host-process.ts";
import type { EnvironmentFlavour } from "./environment.ts";
import { type CommandEnd, runCommand } from "./run-command.ts";

const CLASSICAL = ["sklearn", "xgboost", "lightgbm", "catboost"];
const NETWORKS = ["torch", "sklearn"];

/** What each environment is for, by the engine's names. */
const LIBRARIES: Readonly<Record<EnvironmentFlavour, readonly string[]>> = {
  ml: CLASSICAL,
  dl: NETWORKS,
  dev: [...CLASSICAL, ...NETWORKS],
};

/** What `mucast_engine.status` prints. */
export interface ImportedLibraries {
  readonly python: string;
  /** Version of each library, or why it cannot be imported. */
  readonly libraries: Readonly<Record<string, { readonly version?: string; readonly fault?: string }>>;
  /** CUDA devices. */
  readonly devices: readonly string[];
}

/** Imports the libraries of a flavour once, in a process of its own that prints `ImportedLibraries`. Never rejects. */
export function importLibraries(python: string, flavour: EnvironmentFlavour): Promise<CommandEnd> {
  const module = ["-s", "-P", "-m", "mucast_engine.status"];
  return runCommand(python, [...module, ...LIBRARIES[flavour]], engineEnvironment());
}
