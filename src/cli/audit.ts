import type { Command } from "commander";
import { auditInputs, CHECKS, runAudit } from "../audit/run-audit.ts";
import { blobPolicy } from "../blob/policy.ts";
import { JOB_OPERATIONS } from "../contract/config/job-operations.ts";
import { findJob } from "../contract/config/payload.ts";
import {
  AUDIT_CHECKS,
  auditOptionsSchema,
  AUDIT_DEFAULTS as DEFAULTS,
} from "../contract/config/payload-schemas.ts";
import { printable } from "../contract/errors/wording.ts";
import type { AuditBlob } from "../contract/output/audit-blob.ts";
import { addCommand, type FlagsOf, JOB_OPTIONS, membersOf } from "./command.ts";
import { jobInputs, jobResources, withReporter } from "./job-inputs.ts";
import { inputLocations } from "./locations.ts";
import { table } from "./terminal/output-table.ts";

const OPTIONS = {
  ...JOB_OPTIONS,
  checks: ["--checks <list>", `comma-separated, from ${AUDIT_CHECKS.join(", ")} (default: all)`],
  operation: ["--operation <job>", `${JOB_OPERATIONS.join(" or ")}; needed if the config has both sections`],
  previous_feature_url: ["--previous-feature-url <location>", "feature blob of an earlier day, likewise"],
  previous_data_extractor_url: [
    "--previous-data-extractor-url <location>",
    "data-extraction blob of that day",
  ],
  accept: ["--accept <feature...>", "features whose high correlation is legitimate, or implausible_job"],
  truncations: [
    "--truncations <k>",
    `dates after which the blobs are cut (default: ${DEFAULTS.truncations})`,
  ],
  permutations: ["--permutations <n>", `label permutations (default: ${DEFAULTS.permutations})`],
  quick: ["--quick", "run ridge, or the network for 2 epochs, instead of the config's own model"],
  portable: ["--portable", "pin the kernels of the jobs that it runs, as --portable does for a job"],
} as const;

/** The exit code of an audit with a finding above a note. */
const FOUND = 8;

export function addAudit(program: Command): void {
  addCommand(program, "audit", {
    about: "check both blobs and the job itself for look-ahead",
    options: OPTIONS,
    help: `
Examples:
  mucast audit --feature-url blobs --config pooled-lightgbm --checks truncation --quick
  mucast audit --feature-url blobs --config pooled-lightgbm --previous-feature-url yesterday

stdout carries the verdict as one JSON object (schema mucast.audit/1); stderr shows it as a table. The command takes the
flags of the jobs. Exit codes: 0 clean, 8 a finding above a note, and the exit codes of the jobs if there is no verdict.`,
    run: auditBlobs,
  });
}

async function auditBlobs(flags: FlagsOf<typeof OPTIONS>): Promise<void> {
  const resources = jobResources(flags);
  await withReporter(flags, { tickersShown: 3 }, async (reporter, running) => {
    const previous = await inputLocations(flags.previous_feature_url, flags.previous_data_extractor_url);
    const given = {
      ...flags,
      checks: flags.checks?.split(",").map((name) => name.trim()),
      truncations: asNumber(flags.truncations),
      permutations: asNumber(flags.permutations),
      previous_feature_url: previous.features,
      previous_data_extractor_url: previous.prices,
    };
    const options = membersOf(auditOptionsSchema, given, OPTIONS);
    const request = { ...(await jobInputs(flags, reporter)), id: process.env.OPERATION_ID || "audit" };
    const operation = findJob(request.config, options.operation, "--operation");
    const policy = blobPolicy({ ...process.env, BLOB_URL: request.blobUrl });
    const context = { ...resources, ...running, policy };
    const verdict = await runAudit(auditInputs(request, { ...options, operation }), context, {
      checks: CHECKS.filter(({ name }) => options.checks?.includes(name) ?? true),
      // Says what each check costs before the first one starts.
      onCheck: (check, cost) => {
        if (!flags.quiet) reporter.write({ level: "info", check, cost }, `${check}: ${cost}`);
      },
    });
    reporter.finish();
    process.stdout.write(`${JSON.stringify(verdict)}\n`);
    if (flags.log === "text") process.stderr.write(asText(verdict));
    if (verdict.verdict === "found") process.exitCode = FOUND;
  });
}

/** A text that is no number stays one, for the error of the schema. */
function asNumber(text: string | undefined): number | string | undefined {
  return text && /^\d+$/.test(text) ? Number(text) : text;
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
