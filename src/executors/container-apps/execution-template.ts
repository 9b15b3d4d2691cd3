import type { EnvironmentVar, Job, JobExecution, JobExecutionTemplate } from "@azure/arm-appcontainers";
import { JOB_OPERATIONS } from "../../contract/config/job-operations.ts";
import { LIMITS } from "../../contract/config/limits.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { JobOrder } from "../executor.ts";

/** The variables that distinguish the execution of one attempt from all others of its job. */
const ID = "OPERATION_ID";
const ATTEMPT = "MUCAST_STATUS_ATTEMPT";
/** Set for an audit or a replay; the job's command then runs that instead of the job. */
const OPERATION = "MUCAST_OPERATION";
/** JSON text of the payload without its inputs and its config. */
const OPTIONS = "MUCAST_OPTIONS";
/** The caller's space, relative to the job's own BLOB_URL, which may be a secret that only the job knows. */
const SPACE = "MUCAST_BLOB_SPACE";

/**
 * The template of an execution: the job's whole template, with the order and the settings in the env of one container. Azure uses it in
 * place of the job's template, so it must be complete.
 * @throws MucastError too_large for a config over its limit; unavailable if the job has no container.
 */
export function executionTemplate(
  job: Job,
  jobName: string,
  order: JobOrder,
  settings: JobSettings = {},
): JobExecutionTemplate {
  const containers = job.template?.containers ?? [];
  const target = containers.find(({ name }) => name === jobName) ?? containers[0];
  if (target === undefined) {
    throw new MucastError("unavailable", `${jobName} has no container; deploy the job again`, {
      path: jobName,
    });
  }
  const ours = [...orderEnv(order), ...settingsEnv(settings)];
  return {
    containers: containers.map((container) =>
      container === target ? { ...container, env: merged(container.env ?? [], ours) } : container,
    ),
    ...(job.template?.initContainers ? { initContainers: job.template.initContainers } : {}),
  };
}

/** Settings of the service, by the variable names that job containers read. */
export type JobSettings = Readonly<Record<string, string>>;

function settingsEnv(settings: JobSettings): EnvironmentVar[] {
  return Object.entries(settings).map(([name, value]) => ({ name, value }));
}

/** Whether an execution was started for this attempt at this operation. */
export function carries(execution: JobExecution, { id, attempt }: JobOrder): boolean {
  return (execution.template?.containers ?? []).some(
    ({ env = [] }) => envValue(env, ID) === id && envValue(env, ATTEMPT) === String(attempt),
  );
}

/** The order, as environment variables of a job container. */
function orderEnv(order: JobOrder): EnvironmentVar[] {
  const bytes = Buffer.byteLength(order.config);
  if (bytes > LIMITS.configBytes) {
    const message = `config has ${bytes} bytes, more than the ${LIMITS.configBytes} of a config`;
    throw new MucastError("too_large", message, { path: "config", limit: LIMITS.configBytes });
  }
  const values = {
    FEATURE_URL: order.featureUrl,
    DATA_EXTRACTOR_URL: order.dataExtractorUrl,
    CONFIG: order.config,
    ...kindEnv(order),
    [ID]: order.id,
    [ATTEMPT]: String(order.attempt),
    ...(order.space ? { [SPACE]: order.space } : {}),
    ...(order.traceparent === undefined ? {} : { TRACEPARENT: order.traceparent }),
  };
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

/** Empty for a job without options, so that its containers get the same environment as before options existed. */
function kindEnv({ operation, options = {} }: JobOrder): Record<string, string> {
  const isJob = (JOB_OPERATIONS as readonly string[]).includes(operation);
  return {
    ...(isJob ? {} : { [OPERATION]: operation }),
    ...(Object.keys(options).length === 0 ? {} : { [OPTIONS]: JSON.stringify(options) }),
  };
}

function merged(own: readonly EnvironmentVar[], ours: readonly EnvironmentVar[]): EnvironmentVar[] {
  const names = new Set(ours.map(({ name }) => name));
  return [...own.filter(({ name }) => !names.has(name)), ...ours];
}

function envValue(env: readonly EnvironmentVar[], wanted: string): string | undefined {
  return env.find(({ name }) => name === wanted)?.value;
}
