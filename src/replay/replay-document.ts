import { REPLAY_SCHEMA_NAME, type ReplayBlob } from "../contract/output/replay-blob.ts";
import { MAX_QUOTED } from "./differences.ts";
import { publicName } from "./find-input.ts";
import type { RecordedOutput } from "./recorded-output.ts";

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
