import { MucastError } from "../contract/errors/errors.ts";
import { choiceSchema } from "../contract/output/choice.ts";
import {
  type ChangedFact,
  REPLAY_LISTS,
  REPLAY_REASONS,
  REPLAY_SCHEMA_NAME,
  type ReplayBlob,
} from "../contract/output/replay-blob.ts";
import { choiceFaults } from "../evaluate/choice/recorded-choice.ts";
import { compareDocuments, comparedText, mayLackNothing, mayLackOptional } from "./compare-documents.ts";
import { Differences, MAX_QUOTED } from "./differences.ts";
import { publicName } from "./find-inputs.ts";
import { JsonFile } from "./json-file.ts";
import { likelyReason } from "./likely-reason.ts";
import {
  type RecordedFacts,
  type RecordedOutput,
  type RecordedProvenance,
  readFacts,
} from "./recorded-output.ts";

/**
 * Compares an output with the new one of its job.
 * @param path of the new output.
 * @throws MucastError engine_crashed if the new run lost a ticker to an engine crash and the recorded run did not.
 */
export async function compareOutputs(facts: RecordedFacts, recorded: JsonFile, path: string): Promise<Found> {
  const replayed = await JsonFile.open(path, "the replayed output");
  try {
    return await compared(facts, recorded, replayed);
  } finally {
    await replayed.close();
  }
}

async function compared(facts: RecordedFacts, recorded: JsonFile, replayed: JsonFile): Promise<Found> {
  const after = await readFacts(replayed);
  const [lost] = without(after.crashed, facts.crashed);
  if (lost !== undefined) {
    const message = `a process of the engine died at ${lost} while the replay ran, so the documents cannot be compared; replay again`;
    throw new MucastError("engine_crashed", message, { ticker: lost });
  }
  const versions = changedVersions(facts.provenance, after.provenance);
  const machine = changedMachine(facts, after);
  const isOtherBuild = versions.some(({ name }) => name === "mucast" || name === "commit");
  const isOlder = facts.provenance.config === undefined || isOtherBuild;
  const differences = new Differences();
  const [before, now] = [await comparedText(recorded), await comparedText(replayed)];
  if (before.sha256 !== now.sha256) {
    await compareDocuments(recorded, replayed, differences, isOlder ? mayLackOptional : mayLackNothing);
  }
  const summary = differences.summary();
  const found = { versions, machine, lacks: differences.lacks, differences: summary };
  const inputs = changedInputs(facts.provenance, after.provenance);
  const { device } = facts.provenance;
  const crashed = without(facts.crashed, after.crashed);
  const reason =
    summary === undefined
      ? undefined
      : likelyReason({
          ...{ ...found, inputs, device, crashed },
          commit: after.provenance.commit,
          recordedCommit: facts.provenance.commit,
          choice: await unsupportedMembers(recorded),
        });
  return {
    verdict: reason === undefined ? "identical" : REPLAY_REASONS[reason.code].verdict,
    reason,
    compared: { sha256: before.sha256, replayed_sha256: now.sha256, numbers: before.numbers },
    ...found,
  };
}

/** A larger `choice` is not checked: 100 candidates with losses on 5,000 dates have about 10 MB. */
const MAX_CHOICE_BYTES = 16 * 2 ** 20;

/** A hostile output is not checked if choosing again would take longer: candidates x dates x changes. */
const MAX_STEPS = 50_000_000;

/**
 * Chooses the candidates of an output again from the losses that it records.
 * @returns the first members that differ, as a clause; undefined if all agree, without a choice, and for one that cannot be checked.
 */
async function unsupportedMembers(output: JsonFile): Promise<string | undefined> {
  const member = output.members.get("choice");
  if (member === undefined || member.end - member.start > MAX_CHOICE_BYTES) return undefined;
  const choice = choiceSchema.safeParse(await output.parse(member));
  if (!choice.success) return undefined;
  const { changes, losses } = choice.data;
  const values = losses.excess.reduce((sum, own) => sum + own.length, 0);
  if (values * (changes.length + 1) > MAX_STEPS) return undefined;
  const [fault] = choiceFaults(choice.data);
  return fault && `${fault.at} has ${fault.recorded || "none"}, and its losses support ${fault.recomputed}`;
}

/** Blobs that had the recorded digest when the replay looked for them, and another one when the job read them. */
function changedInputs(recorded: RecordedProvenance, replayed: RecordedProvenance): string[] {
  const inputs = [
    [recorded.feature_url, recorded.feature_sha256, replayed.feature_sha256],
    [recorded.data_extractor_url, recorded.data_extractor_sha256, replayed.data_extractor_sha256],
  ] as const;
  return inputs.filter(([, before, now]) => before !== now).map(([url]) => publicName(url));
}

function without(names: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others);
  return names.filter((name) => !known.has(name));
}

/** The part of a verdict that does not depend on the output's name. */
export type Found = Partial<Omit<ReplayBlob, "schema" | "id" | "output">> & Pick<ReplayBlob, "verdict">;

/** The document of the verdict, with members in the order of its schema. */
export function replayDocument(id: string, recorded: RecordedOutput, found: Found): ReplayBlob {
  const { verdict, reason, compared, differences, inputs, problem } = found;
  return {
    schema: REPLAY_SCHEMA_NAME,
    id,
    verdict,
    ...(reason === undefined ? {} : { reason }),
    output: {
      url: publicName(recorded.name),
      sha256: recorded.sha256,
      operation: recorded.facts?.operation ?? null,
      id: quotedText(recorded.id),
      created_at: quotedText(recorded.createdAt),
    },
    ...(compared === undefined ? {} : { compared }),
    ...(differences === undefined ? {} : { differences }),
    lacks: found.lacks ?? [],
    ...(inputs === undefined ? {} : { inputs }),
    versions: found.versions ?? [],
    machine: found.machine ?? [],
    ...(problem === undefined ? {} : { problem }),
  };
}

function quotedText(value: unknown): string | null {
  return typeof value === "string" ? value.slice(0, MAX_QUOTED.text) : null;
}

/** The versions that differ between two outputs, the commit of mucast, and the lock of the Python environment if both record it. */
function changedVersions(recorded: RecordedProvenance, replayed: RecordedProvenance): ChangedFact[] {
  const locks =
    recorded.lock_sha256 === undefined
      ? []
      : changedFacts({ lock: recorded.lock_sha256 }, { lock: replayed.lock_sha256 });
  const commits = changedFacts({ commit: recorded.commit }, { commit: replayed.commit });
  return [...changedFacts(recorded.versions, replayed.versions), ...commits, ...locks].slice(
    0,
    REPLAY_LISTS.facts,
  );
}

/**
 * The facts that differ between two machines, and the kernel level and threads of both runs; none if the recorded output does not
 * name its machine.
 */
function changedMachine(recorded: RecordedFacts, replayed: RecordedFacts): ChangedFact[] {
  if (recorded.machine === undefined) return [];
  const factsOf = ({ machine, provenance }: RecordedFacts) => ({
    machine,
    kernel_level: provenance.kernel_level ?? null,
    threads: provenance.threads ?? null,
  });
  return changedFacts(factsOf(recorded), factsOf(replayed));
}

const MAX_DEPTH = 8;
const MAX_LEAVES = 1_000;

/** The leaves of two JSON values that differ, each by its path. */
function changedFacts(recorded: unknown, replayed: unknown): ChangedFact[] {
  const [before, after] = [leavesOf(recorded), leavesOf(replayed)];
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names
    .map((name) => ({ name, recorded: before.get(name) ?? null, replayed: after.get(name) ?? null }))
    .filter((fact) => fact.recorded !== fact.replayed)
    .slice(0, REPLAY_LISTS.facts);
}

/** Lists become one text each. If a value has too many leaves, only the first ones count. */
function leavesOf(
  value: unknown,
  path = "",
  depth = 0,
  leaves = new Map<string, string>(),
): Map<string, string> {
  if (value === null || value === undefined) return leaves;
  if (typeof value !== "object" || Array.isArray(value) || depth === MAX_DEPTH) {
    leaves.set(path, cut(Array.isArray(value) ? value.map(textOf).join(" ") : textOf(value)));
    return leaves;
  }
  for (const [name, member] of Object.entries(value)) {
    if (leaves.size >= MAX_LEAVES) break;
    leavesOf(member, path === "" ? cut(name) : `${path}.${cut(name)}`, depth + 1, leaves);
  }
  return leaves;
}

/** An object becomes its JSON text, because its `toString` may be anything. */
function textOf(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const MAX_LENGTH = 200;

function cut(text: string): string {
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}
