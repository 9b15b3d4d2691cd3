import type { Command } from "commander";
import type { UserEnvironment } from "../engine/environment/environment.ts";
import { installEnvironment } from "../engine/environment/install-environment.ts";
import { pruneEnvironments } from "../engine/environment/prune-environments.ts";

interface SetupFlags {
  readonly dl?: true;
  readonly ray?: true;
  readonly prune?: true;
}

export function addSetup(program: Command): void {
  program
    .command("setup")
    .description("install the Python environment of run_ml_job: scikit-learn, xgboost, lightgbm, catboost")
    .option("--dl", "also install the environment of run_dl_job: PyTorch, about 6 GB")
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
    .action(async ({ dl, ray, prune }: SetupFlags) => {
      const flavours: UserEnvironment[] = ["ml"];
      if (dl) flavours.push("dl");
      if (ray) flavours.push("ray");
      const report = (line: string) => process.stderr.write(`${line}\n`);
      // First, because the new environments may need the space.
      if (prune) await pruneEnvironments(report);
      for (const flavour of flavours) {
        const { python } = await installEnvironment({ flavour, report });
        report(`setup: ${python} is ready`);
      }
    });
}
