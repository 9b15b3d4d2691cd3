import { counted } from "../contract/errors/wording.ts";
import { REPLAY_REASONS, type ReplayBlob, type ReplayReason } from "../contract/output/replay-blob.ts";

type Reason = NonNullable<ReplayBlob["reason"]>;

export function reasonOf(code: ReplayReason, message: string): Reason {
  return { code, message, advice: REPLAY_REASONS[code].advice };
}

/** As `versions`, for an output of a build that did not know its commit. */
const ADVICE_WITHOUT_COMMIT =
  "Install the version of mucast that the output records, run its `mucast setup`, and replay there. The output records no commit, so builds of that version differ only by date (`created_at`). Another version may compute other last digits.";

export interface ReplayFacts extends Pick<ReplayBlob, "versions" | "machine" | "lacks" | "differences"> {
  /** Blobs that changed while the replay ran. */
  readonly inputs: readonly string[];
  /** The commit of mucast in the new output; undefined if it is unknown. */
  readonly commit: string | undefined;
  /** The same in the recorded output. */
  readonly recordedCommit: string | undefined;
  /** What the recorded models were fitted on. */
  readonly device: string;
  /** Tickers that the recorded job lost to an engine crash, and the new run did not. */
  readonly crashed: readonly string[];
  /** Recorded members of a choice that the recorded losses do not support, as a clause. */
  readonly choice?: string | undefined;
}

const NAMED = 5;

/** Why a new document differs from the recorded one although it was made from the same blobs: the first reason that applies. */
export function likelyReason(facts: ReplayFacts): Reason {
  const { inputs, versions, machine, lacks, device, crashed, choice } = facts;
  const size = sizeOf(facts.differences);
  if (inputs.length > 0) {
    return reasonOf("inputs", `${first(inputs, " and ")} changed while the replay ran; ${size}`);
  }
  if (isSpelling(facts.differences)) {
    return reasonOf("spelling", `the output was written again by another program; ${size}`);
  }
  if (versions.length > 0) {
    return ofVersions(facts, `other versions: ${changes(versions)}; ${size}`);
  }
  if (machine.length > 0) {
    return reasonOf(
      "instruction_set",
      `another kind of processor, or other kernels: ${changes(machine)}; ${size}`,
    );
  }
  if (lacks.length > 0) {
    const words = `the output is of an older version of mucast, which did not write ${first(lacks)}`;
    return ofVersions(facts, `${words}; ${size}`);
  }
  if (device.startsWith("cuda")) return reasonOf("device", `the networks were trained on ${device}; ${size}`);
  if (crashed.length > 0) {
    return reasonOf(
      "engine_crashed",
      `a process of the recorded job's engine died at ${first(crashed)}; ${size}`,
    );
  }
  const contradiction = choice === undefined ? "" : `the output contradicts itself: ${choice}; `;
  const same = `inputs, versions and processor are the same${buildNote(facts.commit)}`;
  return reasonOf("defect", `${same}; ${contradiction}${size}`);
}

function ofVersions({ recordedCommit }: ReplayFacts, message: string): Reason {
  const reason = reasonOf("versions", message);
  return recordedCommit === undefined ? { ...reason, advice: ADVICE_WITHOUT_COMMIT } : reason;
}

/** What equal commits leave open: two builds without a commit, or of changed files, may differ. */
function buildNote(commit: string | undefined): string {
  if (commit === undefined) return ", but neither output names the commit of mucast";
  return commit.endsWith("-dirty") ? ", but mucast was built from changed files of one commit" : "";
}

function changes(facts: ReplayBlob["versions"]): string {
  return first(
    facts.map(({ name, recorded, replayed }) => `${name} ${recorded || "none"}, now ${replayed || "none"}`),
    "; ",
  );
}

function first(texts: readonly string[], mark = ", "): string {
  const more = texts.length - NAMED;
  return `${texts.slice(0, NAMED).join(mark)}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Whether all values are equal, and only some texts differ. */
function isSpelling(differences: ReplayBlob["differences"]): boolean {
  return differences !== undefined && differences.numbers + differences.others === 0;
}

function sizeOf(differences: ReplayBlob["differences"]): string {
  if (differences === undefined) return "all that was compared is the same";
  const { numbers, others, spellings = 0, first: example, largest } = differences;
  if (isSpelling(differences)) {
    const { path, recorded, replayed } = example;
    return `every value is the same, and ${counted(spellings, "is written", "are written")} in another way, such as ${recorded} for ${replayed} (${path})`;
  }
  if (numbers === 0)
    return `every number is the same, and ${counted(others, "other value differs", "other values differ")}`;
  return `${counted(numbers, "number differs", "numbers differ")}, by ${largest!.absolute} at most (${largest!.path})`;
}
