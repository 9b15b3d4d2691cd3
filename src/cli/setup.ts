import type { Command } from "commander";
import { installEnvironment } from "../engine/install-environment.ts";

export function addSetup(program: Command): void {
  program
    .command("setup")
    .description("install the Python environment of run_ml_job: scikit-learn, xgboost, lightgbm, catboost")
    .addHelpText(
      "after",
      "\nExample:\n  mucast setup && mucast doctor\n\nNeeds Python 3.11 to 3.14 and the package index. What is right already is left alone. MUCAST_PYTHON\n" +
        "names a ready interpreter instead.",
    )
    .action(async () => {
      const { python } = await installEnvironment({
        flavour: "ml",
        report: (line) => process.stderr.write(`${line}\n`),
      });
      process.stderr.write(`setup: ${python} is ready\n`);
    });
}
