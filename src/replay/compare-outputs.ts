import { MucastError } from "../contract/errors/errors.ts";
import { choiceSchema } from "../contract/output/choice.ts";
import {
  type ChangedFact,
  REPLAY_LISTS,
  REPLAY_REASONS,
  type ReplayBlob,
} from "../contract/output/replay-blob.ts";
import { choiceFaults } from "../evaluate/choice/prequential.ts";
import { fileSource, readMembers } from "../outputs/read-members.ts";
import { compareDocuments, type DocumentFile } from "./compare-documents.ts";
import { publicName } from "./find-inputs.ts";
import { likelyReason } from "./likely-reason.ts";
import { crashedTickers, type RecordedFacts, readFacts } from "./recorded-output.ts";

/** The part of a verdict that does not depend on the output's name. */
export type Found = Pick<ReplayBlob, "verdict"> & Partial<Omit<ReplayBlob, "schema" | "id" | "output">>;

/**
 * Compares an output with the new one of its job.
 * @throws MucastError engine_crashed if the new run lost a ticker to an engine crash and the recorded run did not.
 */
export async function compareOutputs(
  facts: RecordedFacts,
  recorded: DocumentFile,
  replayed: DocumentFile,
): Promise<Found> {
  const after = (await readFacts(replayed))!;
  const [crashed, crashedNow] = [crashedTickers(facts), crashedTickers(after)];
  const lost = crashedNow.find((ticker) => !crashed.includes(ticker));
  if (lost !== undefined) {
    const message = `a process of the engine died at ${lost} while the replay ran, so the documents cannot be compared; replay again`;
    throw new MucastError("engine_crashed", message, { ticker: lost });
  }
  const [before, now] = [facts.provenance, after.provenance];
  const versions = changedFacts(
    { ...before.versions, commit: before.commit, lock: before.lock_sha256 },
    { ...now.versions, commit: now.commit, lock: before.lock_sha256 && now.lock_sha256 },
  );
  const isOtherBuild = versions.some(({ name }) => name === "mucast" || name === "commit");
  const machine = changedFacts(machineOf(facts), machineOf(after));
  const { differences, ...compared } = await compareDocuments(recorded, replayed, isOtherBuild);
  const found = { versions, machine, lacks: differences.lacks, differences: differences.summary() };
  const inputs = (["feature", "data_extractor"] as const)
    .filter((kind) => before[`${kind}_sha256`] !== now[`${kind}_sha256`])
    .map((kind) => publicName(before[`${kind}_url`]));
  const reason =
    found.differences &&
    likelyReason({
      ...{ ...found, differences: found.differences, inputs, device: before.device },
      ...{ commit: now.commit, recordedCommit: before.commit },
      crashed: crashed.filter((ticker) => !crashedNow.includes(ticker)),
      choice: await unsupportedMembers(recorded),
    });
  return {
    verdict: reason === undefined ? "identical" : REPLAY_REASONS[reason.code].verdict,
    reason,
    compared,
    ...found,
  };
}

/** What the bytes depend on besides inputs and versions. */
function machineOf({ machine, provenance }: RecordedFacts) {
  return { machine, kernel_level: provenance.kernel_level, threads: provenance.threads };
}

/**
 * Chooses the candidates of an output again from the losses that it records.
 * @returns the first members that differ, as a clause; undefined if all agree, without a choice, and for one of another shape.
 */
async function unsupportedMembers({ path, name }: DocumentFile): Promise<string | undefined> {
  const { choice } = await readMembers<{ choice?: unknown }>(fileSource(path, name), { choice: true });
  const parsed = choiceSchema.safeParse(choice);
  const [fault] = parsed.success ? choiceFaults(parsed.data) : [];
  return fault && `${fault.at} has ${fault.recorded || "none"}, and its losses support ${fault.recomputed}`;
}

/** The leaves of two JSON values that differ, each by its path. */
function changedFacts(recorded: object, replayed: object): ChangedFact[] {
  const [before, after] = [new Map(leavesOf(recorded)), new Map(leavesOf(replayed))];
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names
    .map((name) => ({ name, recorded: before.get(name) ?? null, replayed: after.get(name) ?? null }))
    .filter((fact) => fact.recorded !== fact.replayed)
    .slice(0, REPLAY_LISTS.facts);
}

/** Each path with its text; a list is one text. */
function* leavesOf(value: unknown, path = ""): Generator<[path: string, text: string]> {
  if (value === null || value === undefined) return;
  if (typeof value !== "object" || Array.isArray(value)) yield [path, cut(textOf(value))];
  else
    for (const [name, member] of Object.entries(value))
      yield* leavesOf(member, cut(path === "" ? name : `${path}.${name}`));
}

/** An object becomes its JSON text, because its `toString` may be anything. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(" ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const MAX_LENGTH = 200;

function cut(text: string): string {
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}
