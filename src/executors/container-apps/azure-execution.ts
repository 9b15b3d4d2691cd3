import type { JobExecution } from "@azure/arm-appcontainers";
import type { JobOrder } from "../executor.ts";
import type { PlatformExecution, PlatformState } from "../polling/execution-poll.ts";
import type { JobsApi } from "./jobs-api.ts";
import { findExecution } from "./start-execution.ts";

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

/** States in which nothing of an execution runs. In Running, Processing, Degraded and Unknown it goes on. */
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
