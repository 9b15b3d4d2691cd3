import type { Command } from "commander";
import { MucastError } from "../contract/errors/errors.ts";
import {
  installedEnvironment,
  mayHaveNvidiaDevice,
  namedPython,
  SETUP_COMMANDS,
  type UserEnvironment,
} from "../engine/environment/environment.ts";
import { installEnvironment } from "../engine/environment/install-environment.ts";
import { pruneEnvironments } from "../engine/environment/prune-environments.ts";

interface SetupFlags {
  readonly dl?: true;
  readonly cpu?: true;
  readonly ray?: true;
  readonly prune?: true;
}

export function addSetup(program: Command): void {
  program
    .command("setup")
    .description("install the Python environment of run_ml_job: scikit-learn, xgboost, lightgbm, catboost")
    .option("--dl", "also install the environment of run_dl_job: PyTorch, about 6 GB")
    .option("--cpu", "with --dl: leave out what PyTorch opens only on a GPU; 3.6 GB")
    .option(
      "--ray",
      "also install the environment of both jobs on a Ray cluster: PyTorch and Ray, about 6 GB",
    )
    .option("--prune", "first remove the environments of other versions of mucast, except those in use")
    .addHelpText(
      "after",
      "\nExample:\n  mucast setup && mucast doctor\n\nNeeds Python 3.11 to 3.14 with pip, and access to the package index. An environment that is up to date is left unchanged.\n" +
        "To use an interpreter of your own instead, set MUCAST_PYTHON.",
    )
    .action(async (flags: SetupFlags) => {
      const flavours = flavoursOf(flags);
      const report = (line: string) => process.stderr.write(`${line}\n`);
      if (flavours.includes("dl") && isCudaUseless()) {
        report(
          `setup: there is no NVIDIA GPU here; \`${SETUP_COMMANDS["dl-cpu"]}\` takes 3.6 GB instead of 6.2 GB`,
        );
      }
      // First, because the new environments may need the space.
      if (flags.prune) await pruneEnvironments(report);
      for (const flavour of flavours) {
        const { python } = await installEnvironment({ flavour, report });
        report(`setup: ${python} is ready`);
      }
    });
}

function flavoursOf({ dl, cpu, ray }: SetupFlags): UserEnvironment[] {
  if (cpu && !dl) {
    const message = "--cpu goes with --dl: only the environment of run_dl_job has a variant for CPUs";
    throw new MucastError("invalid_request", message, { path: "--cpu" });
  }
  const flavours: UserEnvironment[] = ["ml"];
  if (dl) flavours.push(cpu ? "dl-cpu" : "dl");
  if (ray) flavours.push("ray");
  return flavours;
}

/** Whether the environment of networks will be installed, and its CUDA cannot be used here. */
function isCudaUseless(): boolean {
  return namedPython() === undefined && !installedEnvironment("dl") && !mayHaveNvidiaDevice();
}
