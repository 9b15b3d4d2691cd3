import type { Command } from "commander";
import { MUCAST_VERSION } from "../contract/version.ts";
import { engineStatus } from "../engine/environment/engine-status.ts";

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("tell what is installed, where, and what is missing")
    .addHelpText(
      "after",
      "\nExample:\n  mucast doctor\n\nThe exit code is 4 where run_ml_job cannot run. The report names what is missing with the command that installs it.",
    )
    .action(async () => {
      const [classical, networks] = await Promise.all([engineStatus("ml"), engineStatus("dl")]);
      const lines = [
        `mucast  ${MUCAST_VERSION}`,
        `node    ${process.versions.node} (${process.execPath})`,
        `system  ${process.platform}-${process.arch}${process.platform === "linux" ? "" : ", untested"}`,
        "",
        `run_ml_job, classical models: ${classical.ready ? "ready" : "not ready"}`,
        ...classical.lines,
        "",
        `run_dl_job, networks: ${networks.ready ? "ready" : "not ready"}`,
        ...networks.lines,
      ];
      process.stdout.write(`${lines.join("\n")}\n`);
      if (!classical.ready) process.exitCode = 4;
    });
}
