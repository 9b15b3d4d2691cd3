import type { Command } from "commander";
import { MUCAST_BUILD_TEXT } from "../contract/version.ts";
import { engineStatus } from "../engine/environment/engine-status.ts";
import { installedEnvironment, namedPython } from "../engine/environment/environment.ts";
import { clusterStatus } from "./cluster-check.ts";
import { type EngineFlags, engineOf, withEngineFlags } from "./jobs/job-options.ts";

interface DoctorFlags extends EngineFlags {
  readonly ray?: true;
}

export function addDoctor(program: Command): void {
  withEngineFlags(program.command("doctor"), "also check a Ray cluster, ray://<host>:<port>")
    .description("show what is installed, where, and what is missing")
    .option("--ray", "also show the environment of jobs on a Ray cluster (always shown if it is installed)")
    .addHelpText(
      "after",
      "\nExamples:\n  mucast doctor\n  mucast doctor --engine ray://head.example:10001\n\nThe exit code is 4 if run_ml_job cannot run, or if a job cannot run on the given cluster. For everything that is missing, the output\nshows the command that installs it.",
    )
    .action(async ({ ray, ...flags }: DoctorFlags) => {
      const named = engineOf(flags, process.env);
      const [classical, networks, cluster] = await Promise.all([
        engineStatus("ml"),
        engineStatus("dl"),
        ray || named || isRayInstalled() ? engineStatus("ray") : undefined,
      ]);
      const lines = [
        `mucast  ${MUCAST_BUILD_TEXT}`,
        `node    ${process.versions.node} (${process.execPath})`,
        `system  ${process.platform}-${process.arch}${process.platform === "linux" ? "" : ", untested"}`,
        "",
        `run_ml_job, classical models: ${classical.ready ? "ready" : "not ready"}`,
        ...classical.lines,
        "",
        `run_dl_job, networks: ${networks.ready ? "ready" : "not ready"}`,
        ...networks.lines,
      ];
      if (cluster) {
        lines.push("", `jobs on a Ray cluster: ${cluster.ready ? "ready" : "not ready"}`, ...cluster.lines);
      }
      const status = named && (await clusterStatus(named, (line) => process.stderr.write(`${line}\n`)));
      if (status) lines.push(...status.lines);
      process.stdout.write(`${lines.join("\n")}\n`);
      if (!classical.ready || status?.ready === false) process.exitCode = 4;
    });
}

function isRayInstalled(): boolean {
  return namedPython() === undefined && installedEnvironment("ray") !== undefined;
}
