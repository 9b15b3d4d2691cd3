import { type ChangedFact, REPLAY_LISTS } from "../contract/output/replay-blob.ts";
import type { RecordedProvenance } from "./recorded-output.ts";

/** The versions that differ between two outputs, and the lock of the Python environment if both record it. */
export function changedVersions(recorded: RecordedProvenance, replayed: RecordedProvenance): ChangedFact[] {
  const locks =
    recorded.lock_sha256 === undefined
      ? []
      : changedFacts({ lock: recorded.lock_sha256 }, { lock: replayed.lock_sha256 });
  return [...changedFacts(recorded.versions, replayed.versions), ...locks].slice(0, REPLAY_LISTS.facts);
}

/**
 * The facts that differ between two machines, and the kernel level and threads of both runs; none if the recorded output does not
 * name its machine.
 */
export function changedMachine(
  recorded: { readonly machine: unknown; readonly provenance: RecordedProvenance },
  replayed: { readonly machine: unknown; readonly provenance: RecordedProvenance },
): ChangedFact[] {
  if (recorded.machine === undefined) return [];
  const factsOf = ({ machine, provenance }: typeof recorded) => ({
    machine,
    kernel_level: provenance.kernel_level ?? null,
    threads: provenance.threads ?? null,
  });
  return changedFacts(factsOf(recorded), factsOf(replayed));
}

/** Limits far beyond anything that a job writes. */
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
