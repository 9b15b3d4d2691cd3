import type { CallToolResult } from "@modelcontextprotocol/server";
import type { OperationPage, OperationView } from "../../contract/operation-view.ts";
import { problemAnswer } from "../http/problem-answer.ts";

/** What a tool answers: the operation or the page as it is, and in a few words what to know and do. */
export function toolResult(answer: OperationView | OperationPage): CallToolResult {
  const text = "operations" in answer ? pageText(answer) : operationText(answer);
  return { content: [{ type: "text", text }], structuredContent: { ...answer } };
}

/**
 * What a tool answers that was refused: the problem, for the agent to read and mend its call by.
 *
 * @param onDefect is told of what is no refusal but a defect, under the id that the problem names.
 */
export function toolError(error: unknown, onDefect: (error: unknown, id: unknown) => void): CallToolResult {
  const { problem, isDefect } = problemAnswer(error);
  if (isDefect) onDefect(error, problem.id);
  // Not as structuredContent: some clients hold that against the output schema also where it is an error.
  return { isError: true, content: [{ type: "text", text: JSON.stringify(problem, null, 2) }] };
}

function operationText(operation: OperationView): string {
  return [`${operation.operation} ${operation.id}: ${operation.status}.`, ...sentences(operation)].join(" ");
}

const ASK_AGAIN = "Ask get_operation for this id again in a few seconds.";

function sentences({ status, progress, warnings, result, error }: OperationView): string[] {
  const warned = warnings.length === 0 ? [] : [`Warnings: ${codesOf(warnings)}.`];
  if (result !== null) return [`The output blob with mu is ${result.output_url}.`, ...warned];
  if (error !== null) return [`${error.code}: ${error.detail}.`, error.advice, ...warned];
  const done = progress === null ? [] : [`${progress.stage}: ${progress.done} of ${progress.total ?? "?"}.`];
  return status === "NotStarted" ? [ASK_AGAIN] : [...done, ASK_AGAIN];
}

/** Each code once, with how often it stands there. */
function codesOf(warnings: OperationView["warnings"]): string {
  const counts = Map.groupBy(warnings, ({ code }) => code);
  return [...counts].map(([code, all]) => (all.length === 1 ? code : `${code} (${all.length})`)).join(", ");
}

function pageText({ operations, next_cursor }: OperationPage): string {
  const lines = operations.map(
    ({ id, operation, status, created_at }) => `${id} ${operation} ${status}, created ${created_at}`,
  );
  const more =
    next_cursor === null ? [] : [`There are more: ask again with cursor ${JSON.stringify(next_cursor)}.`];
  return [operations.length === 0 ? "No operations." : lines.join("\n"), ...more].join("\n");
}
