import { MucastError } from "../../contract/errors/errors.ts";
import type { StatusBlob } from "../../contract/output/status-blob.ts";
import { type Problem, problemOf } from "../../contract/problems/problem.ts";
import type { ExecutionEnd, StopReason } from "../executor.ts";

/** Why an execution was asked to stop. A service that drains does not ask. */
export type StopCode = Exclude<StopReason, "draining">;

const STOPPED: Record<StopCode, string> = {
  canceled: "the execution was stopped, as asked",
  timed_out: "the execution had reached its time limit and was stopped",
};

/** The end of a job whose status blob reports success: its output is stored, however the container ends. */
export function successIn(status: StatusBlob | undefined): ExecutionEnd | undefined {
  const end = status?.end;
  return end && "record" in end ? { kind: "succeeded", record: end.record } : undefined;
}

/**
 * How an execution ended. The job's status blob decides; the platform gives only a reason.
 * @param reason what the platform reports about the end.
 * @param asked why the service asked it to stop; undefined if it did not.
 */
export function endOf(
  status: StatusBlob | undefined,
  reason: string,
  asked: StopCode | undefined,
): ExecutionEnd {
  const success = successIn(status);
  if (success !== undefined) return success;
  if (asked !== undefined)
    return { kind: "failed", problem: problemOf(new MucastError(asked, STOPPED[asked])) };
  const problem = problemIn(status);
  // Canceled without a request of the service: its machine was taken away, or an operator stopped it.
  if (problem !== undefined && problem.code !== "canceled") return { kind: "failed", problem };
  return { kind: "lost", reason };
}

/** Whether the job's status blob says how it ended. */
export function isFinal(status: StatusBlob | undefined): boolean {
  return status !== undefined && status.end !== null;
}

function problemIn(status: StatusBlob | undefined): Problem | undefined {
  const end = status?.end;
  return end && "problem" in end ? (end.problem as Problem) : undefined;
}
