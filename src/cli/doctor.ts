import type { Command } from "commander";
import { MUCAST_BUILD_TEXT } from "../contract/version.ts";
import { engineStatus } from "../engine/environment/engine-status.ts";
import { installedEnvironment, namedPython } from "../engine/environment/environment.ts";
import { clusterStatus } from "./cluster-check.ts";
import { addCommand, ENGINE_OPTIONS } from "./command.ts";
import { engineOf } from "./job-inputs.ts";

export function addDoctor(program: Command): void {
  addCommand(program, "doctor", {
    about: "show what is installed, where, and what is missing",
    options: {
      ...ENGINE_OPTIONS,
      ray: ["--ray", "also show the environment of jobs on a Ray cluster (always shown if it is installed)"],
    },
    help: `
Examples:
  mucast doctor
  mucast doctor --engine ray://head.example:10001

The exit code is 4 if run_ml_job cannot run, or if a job cannot run on the given cluster. For everything that is missing, the output
shows the command that installs it.`,
    run: async ({ ray, ...flags }) => {
      const named = engineOf(flags);
      const isRayInstalled = namedPython() === undefined && installedEnvironment("ray") !== undefined;
      const [classical, networks, cluster] = await Promise.all([
        engineStatus("ml"),
        engineStatus("dl"),
        ray || named || isRayInstalled ? engineStatus("ray") : undefined,
      ]);
      const section = (what: string, { ready, lines }: Awaited<ReturnType<typeof engineStatus>>) => [
        "",
        `${what}: ${ready ? "ready" : "not ready"}`,
        ...lines,
      ];
      const lines = [
        `mucast  ${MUCAST_BUILD_TEXT}`,
        `node    ${process.versions.node} (${process.execPath})`,
        `system  ${process.platform}-${process.arch}${process.platform === "linux" ? "" : ", untested"}`,
        ...section("run_ml_job, classical models", classical),
        ...section("run_dl_job, networks", networks),
        ...(cluster ? section("jobs on a Ray cluster", cluster) : []),
      ];
      const status = named && (await clusterStatus(named, (line) => process.stderr.write(`${line}\n`)));
      if (status) lines.push(...section(`cluster ${named.url}`, status));
      process.stdout.write(`${lines.join("\n")}\n`);
      if (!classical.ready || status?.ready === false) process.exitCode = 4;
    },
  });
}
