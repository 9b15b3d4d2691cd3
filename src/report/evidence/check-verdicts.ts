import { NOT_A_VERDICT } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { type AuditBlob, auditBlobSchema } from "../../contract/output/audit-blob.ts";
import { type REPLAY_EXITS, type ReplayBlob, replayBlobSchema } from "../../contract/output/replay-blob.ts";
import { openSchema } from "../../contract/schema/open-schema.ts";
import { countedRows } from "../../view/figures.ts";
import type { OutputEvidence } from "./output-evidence.ts";

export interface CheckVerdict {
  readonly verdict: string;
  readonly isGood: boolean;
  readonly sentence: string;
  readonly lines: readonly string[];
}

/** What `mucast replay` and `mucast audit` said about an output, if a caller passes their verdicts. */
export interface CheckVerdicts {
  readonly replay: CheckVerdict | undefined;
  readonly audit: CheckVerdict | undefined;
}

interface JudgedOutput extends Pick<OutputEvidence, "sha256"> {
  readonly document: Pick<OutputEvidence["document"], "provenance">;
}

interface VerdictFile {
  readonly name: string;
  readonly value: unknown;
}

const MAX_FINDINGS = 20;

/**
 * The verdicts of each output. A replay belongs to the output whose stored bytes it names, an audit to the outputs that were made
 * from the blobs and the config that it examined.
 * @throws MucastError unreadable_blob if a file is not a verdict; invalid_request if a verdict belongs to none of the outputs.
 */
export function checkVerdicts(
  outputs: readonly JudgedOutput[],
  replays: readonly VerdictFile[],
  audits: readonly VerdictFile[],
): CheckVerdicts[] {
  const replayed = replays.map((file) => {
    const blob = parsed(file, replayBlobSchema, "mucast replay");
    return requireOutput(file, blob, outputs.filter(isReplayed(blob)), "an output that is not given");
  });
  const audited = audits.map((file) => {
    const blob = parsed(file, auditBlobSchema, "mucast audit");
    const what = "inputs and a config that no given output has";
    return requireOutput(file, blob, outputs.filter(isAudited(blob)), what);
  });
  return outputs.map((output) => {
    const replay = replayed.find((blob) => isReplayed(blob)(output));
    const audit = audited.find((blob) => isAudited(blob)(output));
    return { replay: replay && replayVerdict(replay), audit: audit && auditVerdict(audit) };
  });
}

function requireOutput<T>({ name }: VerdictFile, blob: T, of: readonly JudgedOutput[], what: string): T {
  if (of.length > 0) return blob;
  throw new MucastError("invalid_request", `${name} is a verdict on ${what}`, { source: name });
}

function parsed<T>(
  { name, value }: VerdictFile,
  schema: Parameters<typeof openSchema>[0] & { readonly _output: T },
  command: string,
): T {
  const { success, data, error } = openSchema(schema).safeParse(value);
  if (success) return data as T;
  const [fault] = error.issues;
  const place = fault === undefined || fault.path.length === 0 ? "" : ` at ${fault.path.join(".")}`;
  const message = `${name} is not a verdict of ${command}: ${fault?.message}${place}`;
  throw new MucastError("unreadable_blob", message, { source: name, ...NOT_A_VERDICT });
}

function isReplayed({ output }: ReplayBlob) {
  return ({ sha256 }: JudgedOutput) => output.sha256 === sha256;
}

function isAudited({ inputs }: AuditBlob) {
  return ({ document: { provenance } }: JudgedOutput) =>
    inputs.feature.sha256 === provenance.feature_sha256 &&
    inputs.data_extractor.sha256 === provenance.data_extractor_sha256 &&
    inputs.config_sha256 === provenance.config_sha256;
}

const REPLAY_SENTENCES: Readonly<Record<string, string>> = {
  identical: "Run again on the same inputs, the job gave the same bytes.",
  differs: "Run again, the job gave a different output.",
  cannot_replay: "The job could not be run again, so the replay proves nothing.",
} satisfies Record<keyof typeof REPLAY_EXITS, string>;

function replayVerdict({ verdict, reason }: ReplayBlob): CheckVerdict {
  return {
    verdict,
    isGood: verdict === "identical",
    sentence: REPLAY_SENTENCES[verdict] ?? `The verdict is ${verdict}.`,
    lines: reason === undefined ? [] : [reason.message, reason.advice],
  };
}

function auditVerdict({ verdict, checks, findings, blind_spots }: AuditBlob): CheckVerdict {
  const run = Object.entries(checks).filter(([, check]) => check?.status !== "not_run");
  const names = run.map(([name]) => name).join(", ");
  const details =
    verdict === "clean"
      ? `${countedRows(run.length, "check")} (${names}) found no look-ahead.`
      : `${countedRows(run.length, "check")} (${names}) found signs of look-ahead: do not trust the skill above.`;
  return {
    verdict,
    isGood: verdict === "clean",
    sentence: details,
    lines: [
      ...findings
        .slice(0, MAX_FINDINGS)
        .map(({ severity, code, message }) => `${severity} ${code}: ${message}`),
      ...blind_spots.map((spot) => `Not covered by any check: ${spot}`),
    ],
  };
}
