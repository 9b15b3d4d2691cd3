import { counted } from "../contract/errors/wording.ts";
import {
  type ChangedFact,
  REPLAY_REASONS,
  type ReplayBlob,
  type ReplayReason,
} from "../contract/output/replay-blob.ts";

export function reasonOf(code: ReplayReason, message: string) {
  return { code, message, advice: REPLAY_REASONS[code].advice as string };
}

const ADVICE_WITHOUT_COMMIT =
  "Install the version of mucast that the output records, run its `mucast setup`, and replay there. The output records no commit, so builds of that version differ only by date (`created_at`). Another version may compute other last digits.";

export interface ReplayFacts extends Pick<ReplayBlob, "versions" | "machine"> {
  readonly differences: NonNullable<ReplayBlob["differences"]>;
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

/** Why a new document differs from the recorded one although it was made from the same blobs: the first reason that applies. */
export function likelyReason(facts: ReplayFacts): ReturnType<typeof reasonOf> {
  const { inputs, versions, machine, device, crashed, choice, differences, commit } = facts;
  const { numbers, others, spellings = 0, first, largest } = differences;
  const isSpelling = numbers + others === 0;
  const size = isSpelling
    ? `every value is the same, and ${counted(spellings, "is written", "are written")} in another way, such as ${first.recorded} for ${first.replayed} (${first.path})`
    : numbers === 0
      ? `every number is the same, and ${counted(others, "other value differs", "other values differ")}`
      : `${counted(numbers, "number differs", "numbers differ")}, by ${largest!.absolute} at most (${largest!.path})`;
  const because = (code: ReplayReason, message: string) => reasonOf(code, `${message}; ${size}`);
  if (inputs.length > 0) return because("inputs", `${listed(inputs, " and ")} changed while the replay ran`);
  if (isSpelling) return because("spelling", "the output was written again by another program");
  if (versions.length > 0) {
    const reason = because("versions", `other versions: ${changes(versions)}`);
    return facts.recordedCommit === undefined ? { ...reason, advice: ADVICE_WITHOUT_COMMIT } : reason;
  }
  if (machine.length > 0)
    return because("instruction_set", `another kind of processor, or other kernels: ${changes(machine)}`);
  if (device.startsWith("cuda")) return because("device", `the networks were trained on ${device}`);
  if (crashed.length > 0)
    return because("engine_crashed", `a process of the recorded job's engine died at ${listed(crashed)}`);
  // Two builds without a commit, or of changed files, may differ.
  const build =
    commit === undefined
      ? ", but neither output names the commit of mucast"
      : commit.endsWith("-dirty")
        ? ", but mucast was built from changed files of one commit"
        : "";
  const contradiction = choice === undefined ? "" : `; the output contradicts itself: ${choice}`;
  return because("defect", `inputs, versions and processor are the same${build}${contradiction}`);
}

function changes(facts: readonly ChangedFact[]): string {
  const texts = facts.map(
    ({ name, recorded, replayed }) => `${name} ${recorded || "none"}, now ${replayed || "none"}`,
  );
  return listed(texts, "; ");
}

const NAMED = 5;

function listed(texts: readonly string[], mark = ", "): string {
  const more = texts.length - NAMED;
  return `${texts.slice(0, NAMED).join(mark)}${more > 0 ? ` and ${more} more` : ""}`;
}
