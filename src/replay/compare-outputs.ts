import { MucastError } from "../contract/errors/errors.ts";
import { REPLAY_REASONS } from "../contract/output/replay-blob.ts";
import { changedMachine, changedVersions } from "./changed-facts.ts";
import { compareDocuments, comparedText } from "./compare-documents.ts";
import { Differences } from "./differences.ts";
import { publicName } from "./find-input.ts";
import { JsonFile } from "./json-file.ts";
import { likelyReason } from "./likely-reason.ts";
import { mayLackNothing, mayLackOptional } from "./may-lack.ts";
import { type RecordedFacts, type RecordedProvenance, readFacts } from "./recorded-output.ts";
import type { Found } from "./replay-document.ts";

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
  refuseCrashes(facts, after);
  const versions = changedVersions(facts.provenance, after.provenance);
  const machine = changedMachine(facts, after);
  const isOlder = facts.provenance.config === undefined || versions.some(({ name }) => name === "mucast");
  const differences = new Differences();
  const [before, now] = [await comparedText(recorded), await comparedText(replayed)];
  if (before.sha256 !== now.sha256) {
    await compareDocuments(recorded, replayed, differences, isOlder ? mayLackOptional : mayLackNothing);
    // The members are equal but in another order.
    if (differences.total === 0) differences.other([], "members in this order", "members in another order");
  }
  const summary = differences.summary();
  const found = { versions, machine, lacks: differences.lacks, differences: summary };
  const inputs = changedInputs(facts.provenance, after.provenance);
  const { device } = facts.provenance;
  const crashed = without(facts.crashed, after.crashed);
  const reason = summary === undefined ? undefined : likelyReason({ ...found, inputs, device, crashed });
  return {
    verdict: reason === undefined ? "identical" : REPLAY_REASONS[reason.code].verdict,
    reason,
    compared: { sha256: before.sha256, replayed_sha256: now.sha256, numbers: before.numbers },
    ...found,
  };
}

function refuseCrashes(recorded: RecordedFacts, replayed: RecordedFacts): void {
  const [ticker] = without(replayed.crashed, recorded.crashed);
  if (ticker === undefined) return;
  const message = `a process of the engine died at ${ticker} while the replay ran, so the documents cannot be compared; replay again`;
  throw new MucastError("engine_crashed", message, { ticker });
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
