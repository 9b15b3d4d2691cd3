import { setTimeout as pause } from "node:timers/promises";
import { MucastError } from "../../contract/errors.ts";
import type { JobOrder } from "../executor.ts";
import { ApiFault } from "./api-fault.ts";
import { carries, executionTemplate } from "./execution-template.ts";
import type { JobsApi } from "./jobs-api.ts";

/** How often and how patiently an execution is looked for whose start was not answered. */
export interface Patience {
  readonly looks: number;
  /** Before the second look; each later pause is twice the one before. */
  readonly firstPauseMs: number;
}

/**
 * Starts an execution for an attempt unless there is one already, so that an attempt never has two. A start that is
 * not answered may have been carried out: then the execution is looked for, and never started again from here.
 * @returns its name.
 * @throws MucastError unavailable where nothing was started, or where that cannot be told: call it again later;
 *   internal where Azure refuses the order itself.
 */
export async function startExecution(
  api: JobsApi,
  job: string,
  order: JobOrder,
  patience: Patience,
  signal: AbortSignal,
): Promise<string> {
  try {
    const running = await findExecution(api, job, order, signal);
    if (running !== undefined) return running;
    const template = executionTemplate(await api.job(job, signal), job, order);
    const started = await startOnce(api, job, template, signal);
    const name = started ?? (await lookFor(api, job, order, patience, signal));
    if (name !== undefined) return name;
  } catch (error) {
    throw error instanceof ApiFault ? explained(job, error) : error;
  }
  throw new MucastError(
    "unavailable",
    `starting ${job} was not answered, and no execution carries attempt ${order.attempt} yet`,
  );
}

/** The name of the execution of an attempt, running or ended. */
export async function findExecution(
  api: JobsApi,
  job: string,
  order: JobOrder,
  signal: AbortSignal,
): Promise<string | undefined> {
  const found = await api.find(job, (execution) => carries(execution, order), signal);
  return found?.name;
}

/** Undefined where it cannot be told whether it has started. */
async function startOnce(
  api: JobsApi,
  job: string,
  template: ReturnType<typeof executionTemplate>,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return await api.start(job, template, signal);
  } catch (error) {
    if (error instanceof ApiFault && error.kind === "transient") return undefined;
    throw error;
  }
}

async function lookFor(
  api: JobsApi,
  job: string,
  order: JobOrder,
  { looks, firstPauseMs }: Patience,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let look = 0; look < looks; look++) {
    if (look > 0) await pause(firstPauseMs * 2 ** (look - 1), undefined, { signal });
    try {
      const name = await findExecution(api, job, order, signal);
      if (name !== undefined) return name;
    } catch (error) {
      // The last look says why it failed; an earlier one may have met the same trouble as the start.
      if (look === looks - 1) throw error;
    }
  }
  return undefined;
}

const TO_DO: Record<ApiFault["kind"], string> = {
  missing: "deploy the job, or correct MUCAST_AZURE_RESOURCE_GROUP and MUCAST_AZURE_SUBSCRIPTION",
  throttled: "it is tried again later",
  denied: "give the service's identity the role that may read, start and stop the jobs (docs/deploying.md)",
  refused: "compare the job with infra/job.bicep",
  transient: "it is tried again later",
};

function explained(job: string, fault: ApiFault): MucastError {
  const retryAfter =
    fault.retryAfterMs === undefined ? {} : { retryAfter: Math.ceil(fault.retryAfterMs / 1_000) };
  const code = fault.kind === "refused" ? "internal" : "unavailable";
  return new MucastError(code, `Azure did not start ${job} (${fault.message}): ${TO_DO[fault.kind]}`, {
    path: job,
    ...retryAfter,
  });
}
