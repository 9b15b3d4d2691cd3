import type { JobExecution } from "@azure/arm-appcontainers";
import { MucastError } from "../../contract/errors/errors.ts";
import { type Problem, problemOf } from "../../contract/errors/problem.ts";
import type { StatusBlob } from "../../contract/output/status-blob.ts";
import type { ExecutionEnd } from "../executor.ts";

/** Why an execution was asked to stop. */
export type StopCode = "canceled" | "timed_out";

/** Nothing of an execution in one of these states runs any more; Running, Processing, Degraded and Unknown go on. */
const ENDED: readonly string[] = ["Succeeded", "Failed", "Stopped"];

export function hasEnded(execution: JobExecution): boolean {
  return ENDED.includes(execution.status ?? "");
}

/** The end of a job that has said it is done: its output lies there, whatever becomes of the container. */
export function successIn(status: StatusBlob | undefined): ExecutionEnd | undefined {
  const end = status?.end;
  return end && "record" in end ? { kind: "succeeded", record: end.record } : undefined;
}

/**
 * How an execution ended that runs no more. The job's own word counts; Azure's is only a reason.
 * @param execution undefined where Azure knows it no longer.
 */
export function endOf(
  status: StatusBlob | undefined,
  execution: JobExecution | undefined,
  asked: StopCode | undefined,
): ExecutionEnd {
  const success = successIn(status);
  if (success !== undefined) return success;
  if (asked !== undefined)
    return { kind: "failed", problem: problemOf(new MucastError(asked, STOPPED[asked])) };
  const problem = problemIn(status);
  // A job that was told to stop, and not by us: its machine was taken away, or somebody stopped it by hand.
  if (problem !== undefined && problem.code !== "canceled") return { kind: "failed", problem };
  return { kind: "lost", reason: reasonOf(execution) };
}

const STOPPED: Record<StopCode, string> = {
  canceled: "the execution was stopped, as asked",
  timed_out: "the execution had reached its time limit and was stopped",
};

/** Whether the job has said how it ended. */
export function isFinal(status: StatusBlob | undefined): boolean {
  return status !== undefined && status.end !== null;
}

function problemIn(status: StatusBlob | undefined): Problem | undefined {
  const end = status?.end;
  return end && "problem" in end ? (end.problem as Problem) : undefined;
}

/** What Azure tells of an execution that did not say how it ended. */
function reasonOf(execution: JobExecution | undefined): string {
  if (execution === undefined) return "Azure knows no such execution";
  const containers = (execution.detailedStatus?.replicas ?? []).flatMap(
    (replica) => replica.containers ?? [],
  );
  const codes = containers.flatMap(({ code, additionalInformation }) => [
    ...(code === undefined ? [] : [`exit code ${code}`]),
    ...(additionalInformation ? [additionalInformation] : []),
  ]);
  const facts = [execution.reason, execution.message, ...codes].filter((fact) => fact);
  const why = facts.length === 0 ? "" : `: ${[...new Set(facts)].join(", ")}`;
  return `the execution is ${execution.status} without a final status${why}`.slice(0, 500);
}
