import type { Job, JobExecution, JobExecutionTemplate } from "@azure/arm-appcontainers";
import { JOB_OPERATIONS } from "../../contract/config/job-operations.ts";
import { LIMITS } from "../../contract/config/limits.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { JobOrder } from "../executor.ts";

/** Settings of the service, by the variable names that job containers read. */
export type JobSettings = Readonly<Record<string, string>>;

const [ID, ATTEMPT] = ["OPERATION_ID", "MUCAST_STATUS_ATTEMPT"];

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
  const { containers = [], initContainers } = job.template ?? {};
  const target = containers.find(({ name }) => name === jobName) ?? containers[0];
  if (target === undefined) {
    const message = `${jobName} has no container; deploy the job again`;
    throw new MucastError("unavailable", message, { path: jobName });
  }
  const ours = { ...orderEnv(order), ...settings };
  const env = [
    ...(target.env ?? []).filter(({ name }) => !(name! in ours)),
    ...Object.entries(ours).map(([name, value]) => ({ name, value })),
  ];
  return {
    containers: containers.map((container) => (container === target ? { ...container, env } : container)),
    ...(initContainers ? { initContainers } : {}),
  };
}

/** Whether an execution was started for this attempt at this operation. */
export function carries(execution: JobExecution, { id, attempt }: JobOrder): boolean {
  return (execution.template?.containers ?? []).some(({ env = [] }) => {
    const valueIn = (wanted: string) => env.find(({ name }) => name === wanted)?.value;
    return valueIn(ID) === id && valueIn(ATTEMPT) === String(attempt);
  });
}

/** The order, as environment variables of a job container. */
function orderEnv(order: JobOrder): Record<string, string> {
  const { config, operation, options = {}, space, traceparent } = order;
  const bytes = Buffer.byteLength(config);
  if (bytes > LIMITS.configBytes) {
    const message = `config has ${bytes} bytes, more than the ${LIMITS.configBytes} of a config`;
    throw new MucastError("too_large", message, { path: "config", limit: LIMITS.configBytes });
  }
  const isJob = JOB_OPERATIONS.some((name) => name === operation);
  return {
    FEATURE_URL: order.featureUrl,
    DATA_EXTRACTOR_URL: order.dataExtractorUrl,
    CONFIG: config,
    // Set for an audit or a replay; the job's command then runs that instead of the job.
    ...(isJob ? {} : { MUCAST_OPERATION: operation }),
    ...(Object.keys(options).length === 0 ? {} : { MUCAST_OPTIONS: JSON.stringify(options) }),
    [ID]: order.id,
    [ATTEMPT]: String(order.attempt),
    // Relative to the job's own BLOB_URL, which may be a secret that only the job knows.
    ...(space ? { MUCAST_BLOB_SPACE: space } : {}),
    ...(traceparent === undefined ? {} : { TRACEPARENT: traceparent }),
  };
}
