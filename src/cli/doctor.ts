import type { Command } from "commander";
import { MUCAST_VERSION } from "../contract/version.ts";
import { engineStatus } from "../engine/engine-status.ts";

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("tell what is installed, where, and what is missing")
    .addHelpText(
      "after",
      "\nExample:\n  mucast doctor\n\nThe exit code is 4 where jobs cannot run; the last line then says what to do.",
    )
    .action(async () => {
      const engine = await engineStatus();
      const lines = [
        `mucast  ${MUCAST_VERSION}`,
        `node    ${process.versions.node} (${process.execPath})`,
        `system  ${process.platform}-${process.arch}${process.platform === "linux" ? "" : ", untested"}`,
        ...engine.lines,
      ];
      process.stdout.write(`${lines.join("\n")}\n`);
      if (!engine.ready) process.exitCode = 4;
    });
}
