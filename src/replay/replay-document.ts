import { REPLAY_SCHEMA_NAME, type ReplayBlob } from "../contract/output/replay-blob.ts";
import { SHOWN } from "./differences.ts";
import { shownName } from "./find-input.ts";
import type { RecordedOutput } from "./recorded-output.ts";

/** The part of a verdict that does not name the output. */
export type Found = Partial<Omit<ReplayBlob, "schema" | "id" | "output">> & Pick<ReplayBlob, "verdict">;

/** The verdict's document, members in the order of its schema. */
export function replayDocument(id: string, recorded: RecordedOutput, found: Found): ReplayBlob {
  const { verdict, reason, compared, differences, inputs, problem } = found;
  return {
    schema: REPLAY_SCHEMA_NAME,
    id,
    verdict,
    ...(reason === undefined ? {} : { reason }),
    output: {
      url: shownName(recorded.name),
      sha256: recorded.sha256,
      operation: recorded.facts?.operation ?? null,
      id: shownText(recorded.id),
      created_at: shownText(recorded.createdAt),
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

function shownText(value: unknown): string | null {
  return typeof value === "string" ? value.slice(0, SHOWN.text) : null;
}
