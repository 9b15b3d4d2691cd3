import type { JobExecution } from "@azure/arm-appcontainers";
import { MucastError } from "../../contract/errors/errors.ts";
import type { JobOrder } from "../executor.ts";
import { ApiFault, type PlatformExecution, type PlatformState } from "../polling/execution-poll.ts";
import { carries, executionTemplate, type JobSettings } from "./execution-template.ts";
import type { JobsApi } from "./jobs-api.ts";

/** The names by which Azure knows an execution of a Container Apps job. */
export interface ExecutionKey {
  readonly job: string;
  /** Undefined if Azure did not answer the request to start it. */
  readonly name: string | undefined;
}

/** The execution of one attempt, as Azure's management API shows it. */
export class AzureExecution implements PlatformExecution {
  readonly platform = "Azure";
  readonly #api: JobsApi;
  readonly #order: JobOrder;
  readonly #job: string;
  #name: string | undefined;

  constructor(api: JobsApi, order: JobOrder, { job, name }: ExecutionKey) {
    this.#api = api;
    this.#order = order;
    this.#job = job;
    this.#name = name;
  }

  async find(signal: AbortSignal): Promise<boolean> {
    this.#name ??= await findExecution(this.#api, this.#job, this.#order, signal);
    return this.#name !== undefined;
  }

  async state(signal: AbortSignal): Promise<PlatformState | undefined> {
    const execution = await this.#api.execution(this.#job, this.#name!, signal);
    return execution && stateOf(execution);
  }

  stop(signal: AbortSignal): Promise<void> {
    return this.#api.stop(this.#job, this.#name!, signal);
  }
}

/** States in which nothing of an execution runs. In Running, Processing, Degraded and Unknown it continues. */
const ENDED: readonly string[] = ["Succeeded", "Failed", "Stopped"];

function stateOf(execution: JobExecution): PlatformState {
  if (!ENDED.includes(execution.status ?? "")) return { kind: "running" };
  return { kind: "ended", reason: reasonOf(execution) };
}

/** How Azure explains the end of an execution whose job did not report one. */
function reasonOf(execution: JobExecution): string {
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

/**
 * Starts an execution for an attempt unless it already has one, so that an attempt never has two.
 * @returns its name; undefined if Azure did not answer, so that it may have started or not. The caller looks for it, and
 *   never starts it again.
 * @throws MucastError unavailable if nothing was started: the dispatcher tries again later; internal if Azure refuses the
 *   order itself; too_large.
 */
export async function startExecution(
  api: JobsApi,
  job: string,
  order: JobOrder,
  signal: AbortSignal,
  settings?: JobSettings,
): Promise<string | undefined> {
  try {
    const running = await findExecution(api, job, order, signal);
    if (running !== undefined) return running;
    const template = executionTemplate(await api.job(job, signal), job, order, settings);
    return await startOnce(api, job, template, signal);
  } catch (error) {
    throw error instanceof ApiFault ? explained(job, error) : error;
  }
}

/** The name of the execution of an attempt, running or ended. @throws ApiFault. */
export async function findExecution(
  api: JobsApi,
  job: string,
  order: JobOrder,
  signal: AbortSignal,
): Promise<string | undefined> {
  const found = await api.find(job, (execution) => carries(execution, order), signal);
  return found?.name;
}

async function startOnce(
  api: JobsApi,
  job: string,
  template: ReturnType<typeof executionTemplate>,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (signal.aborted) throw new ApiFault("transient", "the service is ending");
  try {
    return await api.start(job, template, signal);
  } catch (error) {
    if (error instanceof ApiFault && error.kind === "transient") return undefined;
    throw error;
  }
}

const TO_DO: Record<ApiFault["kind"], string> = {
  missing: "deploy the job, or correct MUCAST_AZURE_RESOURCE_GROUP and MUCAST_AZURE_SUBSCRIPTION",
  throttled: "it is tried again later",
  denied: "give the service's identity the role that may read, start and stop the jobs (docs/deploying.md)",
  refused: "compare the job with infra/job.bicep",
  transient: "it is tried again later",
};

function explained(job: string, fault: ApiFault): MucastError {
  const { kind, message, retryAfterMs } = fault;
  const code = kind === "refused" ? "internal" : "unavailable";
  return new MucastError(code, `Azure did not start ${job} (${message}): ${TO_DO[kind]}`, {
    path: job,
    ...(retryAfterMs === undefined ? {} : { retryAfter: Math.ceil(retryAfterMs / 1_000) }),
  });
}
