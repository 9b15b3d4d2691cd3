import type { Command } from "commander";
import { MucastError } from "../contract/errors/errors.ts";
import { MUCAST_BUILD_TEXT } from "../contract/version.ts";
import { engineStatus } from "../engine/environment/engine-status.ts";
import {
  installedEnvironment,
  mayHaveNvidiaDevice,
  namedPython,
  SETUP_COMMANDS,
  type UserEnvironment,
} from "../engine/environment/environment.ts";
import { installEnvironment } from "../engine/environment/install-environment.ts";
import { pruneEnvironments } from "../engine/environment/prune-environments.ts";
import { clusterStatus } from "./cluster-check.ts";
import { addCommand, ENGINE_OPTIONS, type FlagsOf } from "./command.ts";
import { engineOf } from "./job-inputs.ts";

const SETUP_OPTIONS = {
  dl: ["--dl", "also install the environment of run_dl_job: PyTorch, about 6 GB"],
  cpu: ["--cpu", "with --dl: leave out what PyTorch opens only on a GPU; 3.6 GB"],
  ray: ["--ray", "also install the environment of both jobs on a Ray cluster: PyTorch and Ray, about 6 GB"],
  prune: ["--prune", "first remove the environments of other versions of mucast, except those in use"],
} as const;

export function addSetup(program: Command): void {
  addCommand(program, "setup", {
    about: "install the Python environment of run_ml_job: scikit-learn, xgboost, lightgbm, catboost",
    options: SETUP_OPTIONS,
    help: `
Example:
  mucast setup && mucast doctor

Needs Python 3.11 to 3.14 with pip, and access to the package index. An environment that is up to date is left unchanged.
To use an interpreter of your own instead, set MUCAST_PYTHON.`,
    run: setUp,
  });
}

async function setUp({ dl, cpu, ray, prune }: FlagsOf<typeof SETUP_OPTIONS>): Promise<void> {
  if (cpu && !dl) {
    const message = "--cpu goes with --dl: only the environment of run_dl_job has a variant for CPUs";
    throw new MucastError("invalid_request", message, { path: "--cpu" });
  }
  const report = (line: string) => process.stderr.write(`${line}\n`);
  const flavours: UserEnvironment[] = ["ml"];
  if (dl) flavours.push(cpu ? "dl-cpu" : "dl");
  if (ray) flavours.push("ray");
  const installsCuda = dl && !cpu && namedPython() === undefined && !installedEnvironment("dl");
  if (installsCuda && !mayHaveNvidiaDevice()) {
    const smaller = `\`${SETUP_COMMANDS["dl-cpu"]}\` takes 3.6 GB instead of 6.2 GB`;
    report(`setup: there is no NVIDIA GPU here; ${smaller}`);
  }
  // First, because the new environments may need the space.
  if (prune) await pruneEnvironments(report);
  for (const flavour of flavours) {
    const { python } = await installEnvironment({ flavour, report });
    report(`setup: ${python} is ready`);
  }
}

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
