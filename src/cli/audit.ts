import { type Command, InvalidArgumentError, Option } from "commander";
import type { z } from "zod";
import { auditInputs } from "../audit/audit-job.ts";
import { CHECKS } from "../audit/checks.ts";
import { runAudit } from "../audit/run-audit.ts";
import { blobPolicy } from "../blob/policy.ts";
import { JOB_OPERATIONS } from "../contract/config/job-operations.ts";
import { findJob } from "../contract/config/payload.ts";
import {
  AUDIT_CHECKS,
  AUDIT_DEFAULTS,
  AUDIT_LIMITS,
  auditOptionsSchema,
} from "../contract/config/payload-schemas.ts";
import { faultsOf, invalidRequest } from "../contract/errors/faults.ts";
import { printable } from "../contract/errors/wording.ts";
import type { AuditBlob } from "../contract/output/audit-blob.ts";
import {
  type JobFlags,
  jobInputs,
  noticeOf,
  pairedFlags,
  reporterOf,
  windowMembers,
  withEngineFlags,
  withJobFlags,
} from "./jobs/job-options.ts";
import { table } from "./terminal/output-table.ts";
import type { Reporter } from "./terminal/reporter.ts";
import { untilSignal } from "./terminal/signals.ts";

interface AuditFlags extends JobFlags {
  readonly checks?: string;
  readonly operation?: string;
  readonly previousFeatureUrl?: string;
  readonly previousDataExtractorUrl?: string;
  readonly accept: readonly string[];
  readonly truncations: number;
  readonly permutations: number;
  readonly quick?: boolean;
}

/** The exit code of an audit with a finding above a note. */
const FOUND = 8;

const HELP = `
Examples:
  mucast audit --feature-url blobs --config pooled-lightgbm --checks truncation --quick
  mucast audit … --previous-feature-url yesterday/feature_engine_1.json \\
      --previous-data-extractor-url yesterday/data_extractor_1.json

stdout carries the verdict as one JSON object (schema mucast.audit/1); stderr shows it as a table. The command takes the
flags of the jobs. Exit codes: 0 clean, 8 a finding above a note, and the exit codes of the jobs if there is no verdict.`;

export function addAudit(program: Command): void {
  withEngineFlags(withJobFlags(program.command("audit")))
    .description("check both blobs and the job itself for look-ahead")
    .option(
      "--checks <list>",
      `comma-separated checks to run, from ${AUDIT_CHECKS.join(", ")} (default: all)`,
    )
    .option("--operation <job>", `${JOB_OPERATIONS.join(" or ")}; needed if the config has both sections`)
    .option("--previous-feature-url <location>", "the feature blob of an earlier day")
    .option("--previous-data-extractor-url <location>", "the data-extraction blob of an earlier day")
    .addOption(
      new Option(
        "--accept <feature>",
        "a feature whose high correlation is legitimate, or implausible_job; repeatable",
      )
        .argParser(appended)
        .default([], "none"),
    )
    .option("--start <date>", "first date of the window, as for a job")
    .option("--end <date>", "last date of the window")
    .option("--learning-end <date>", "last date whose labels the job may learn from")
    .option(
      "--truncations <k>",
      "number of dates after which the blobs are cut",
      upTo(AUDIT_LIMITS.truncations),
      AUDIT_DEFAULTS.truncations,
    )
    .option(
      "--permutations <n>",
      "number of label permutations",
      upTo(AUDIT_LIMITS.permutations),
      AUDIT_DEFAULTS.permutations,
    )
    .option("--quick", "run ridge, or the network for 2 epochs, instead of the config's own model")
    .option("--portable", "pin the kernels of the jobs that it runs, as --portable does for a job")
    .addHelpText("after", HELP)
    .action(async (flags: AuditFlags) => {
      const { workers, memoryBytes, cluster, clusterTasks, ...request } = jobInputs(
        await pairedFlags(flags, process.env),
        process.env,
      );
      const options = auditOptions(flags);
      const checks = CHECKS.filter(({ name }) => options.checks?.includes(name) ?? true);
      const operation = findJob(request.config, options.operation, "--operation");
      const inputs = auditInputs(
        { ...request, id: process.env.OPERATION_ID || "audit" },
        { ...options, operation },
      );
      const reporter = reporterOf(flags, { tickersShown: 3 });
      const means = { workers, memoryBytes, cluster, clusterTasks, notice: noticeOf(reporter) };
      try {
        const policy = blobPolicy({ ...process.env, BLOB_URL: request.blobUrl });
        const verdict = await untilSignal((signal) =>
          runAudit(
            inputs,
            { ...means, policy, report: reporter.report, signal },
            { checks, onCheck: costReporter(reporter, flags) },
          ),
        );
        reporter.finish();
        process.stdout.write(`${JSON.stringify(verdict)}\n`);
        if (flags.log === "text") process.stderr.write(asText(verdict));
        if (verdict.verdict === "found") process.exitCode = FOUND;
      } finally {
        reporter.finish();
      }
    });
}

function appended(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function upTo(most: number) {
  return (value: string): number => {
    if (/^[1-9]\d{0,5}$/.test(value) && Number(value) <= most) return Number(value);
    throw new InvalidArgumentError(`must be an integer from 1 to ${most}`);
  };
}

/** The flags as the members of a payload. @throws MucastError invalid_request with every fault. */
function auditOptions(flags: AuditFlags): z.infer<typeof auditOptionsSchema> {
  const { checks, operation, quick, portable, truncations, permutations, accept } = flags;
  const given = {
    operation,
    checks: checks?.split(",").map((name) => name.trim()),
    quick,
    portable,
    truncations,
    permutations,
    accept,
    previous_feature_url: flags.previousFeatureUrl,
    previous_data_extractor_url: flags.previousDataExtractorUrl,
    ...windowMembers(flags),
  };
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const parsed = auditOptionsSchema.safeParse(options);
  if (parsed.success) return parsed.data;
  const faults = faultsOf(parsed.error, auditOptionsSchema, "", options);
  throw invalidRequest(faults.map((fault) => ({ ...fault, path: flagOf(fault.path) })));
}

/** `--previous-feature-url` for `.previous_feature_url`, `--checks` for `.checks[1]`. */
function flagOf(path: string): string {
  const member = /\w+/.exec(path)?.[0] ?? path;
  return `--${member.replaceAll("_", "-")}`;
}

/** Prints the cost of each check before the first one starts. */
function costReporter(reporter: Reporter, { quiet }: AuditFlags) {
  return (check: string, cost: string): void => {
    if (quiet !== true) reporter.write({ level: "info", check, cost }, `${check}: ${cost}`);
  };
}

/** The verdict and its limits, the table of checks, and a paragraph for each finding. */
function asText({ verdict, sentence, checks, findings, finding_counts, blind_spots }: AuditBlob): string {
  const ran = Object.entries(checks).flatMap(([name, check]) =>
    check === undefined ? [] : [{ name, ...check }],
  );
  const rows = ran.map(({ name, status, tests }) => {
    const listed = findings.filter((found) => found.check === name).length;
    return [name, status.replace("_", " "), String(tests), String(listed)];
  });
  const all = Object.values(finding_counts).reduce((sum, count) => sum + count, 0);
  const lines = [
    `verdict: ${verdict}. ${sentence ?? ""}`.trimEnd(),
    "What these checks cannot see:",
    ...blind_spots.map((spot) => `- ${spot}`),
    "",
    table(["check", "result", "tests", "findings"], rows),
    ...ran.flatMap(({ name, reason }) =>
      reason === undefined ? [] : [printable(`${name} was not run: ${reason}`)],
    ),
    ...findings.flatMap(({ number, severity, code, message, advice }) => [
      "",
      printable(`${number}. ${severity} ${code}: ${message}`),
      printable(`   ${advice}`),
    ]),
    ...(all > findings.length ? ["", `${all - findings.length} more findings are not listed`] : []),
  ];
  return `${lines.join("\n")}\n`;
}
