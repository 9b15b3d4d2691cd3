import type { VNode } from "preact";
import type { OperationView } from "../client/index.ts";
import { shortVisibleText } from "../contract/visible-text.ts";
import { badge, type MarkName } from "../view/marks.ts";

const STATUS_WORDS: Readonly<Record<string, readonly [mark: MarkName, word: string]>> = {
  NotStarted: ["open", "Queued"],
  Running: ["half", "Running"],
  Succeeded: ["tick", "Succeeded"],
  Failed: ["cross", "Failed"],
  Canceled: ["dash", "Canceled"],
};

/** Every status, with its label. */
export const STATUSES = Object.entries(STATUS_WORDS).map(([name, [, word]]) => [name, word] as const);

export function statusBadge(status: string): VNode {
  const [mark, word] = ownOf(STATUS_WORDS, status) ?? (["open", status] as const);
  return badge(mark, status, word);
}

/** Every kind of operation, with its label. */
export const KINDS: Readonly<Record<string, string>> = {
  run_ml_job: "ML job",
  run_dl_job: "Network job",
  audit: "Audit",
  replay: "Replay",
};

/** The label of a kind; a later service may have other kinds. */
export function kindOf(operation: string): string {
  return ownOf(KINDS, operation) ?? operation;
}

/** What a run fits, such as `pooled ridge`; undefined for a replay. */
export function modelOf({ summary, model }: Pick<OperationView, "summary" | "model">): string | undefined {
  if (summary === undefined) return model;
  return summary.fit === "pooled" ? `pooled ${summary.model}` : summary.model;
}

/** A run by what a person knows of it: its model or kind, and its tags. */
export function runName({ operation, tags = [], ...run }: OperationView): string {
  const model = shortVisibleText(modelOf(run) ?? "", 60);
  const kind = kindOf(operation);
  const name =
    model === "" ? kind : operation === "audit" || operation === "replay" ? `${kind} of ${model}` : model;
  return tags.length === 0 ? name : `${name} (${shortVisibleText(tags.join(", "), 40)})`;
}

const STAGE_WORDS: Readonly<Record<string, string>> = {
  read: "Read inputs",
  fit: "Fit",
  evaluate: "Evaluate",
  write: "Write output",
  truncation: "Check truncation",
  restatement: "Check restatement",
  foresight: "Check foresight",
  skill: "Check skill",
};

/** The label of a stage; a later service may have other stages. */
export function stageWords(stage: string): string {
  return ownOf(STAGE_WORDS, stage) ?? shortVisibleText(stage, 40);
}

/** The value of a key that the record itself has: names of a service may be those that every object inherits. */
export function ownOf<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
