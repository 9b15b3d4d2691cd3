import type {
  ContainerAppsAPIClient,
  ContainerAppsAPIClientOptionalParams,
  Job,
  JobExecution,
  JobExecutionTemplate,
} from "@azure/arm-appcontainers";
import type { TokenCredential } from "@azure/identity";
import { JOB_OPERATIONS } from "../../contract/config/job-operations.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { withOptionalPackages } from "../../contract/machine/optional-packages.ts";
import type { JobOrder } from "../executor.ts";

export interface ApiOptions {
  readonly credential?: TokenCredential | undefined;
  readonly client?: ContainerAppsAPIClientOptionalParams | undefined;
}

/** How a call of the API failed. `refused`: Azure understood and said no. `transient`: it may or may not have been carried out. */
export type FaultKind = "missing" | "throttled" | "denied" | "refused" | "transient";

/** A failed call. The message contains no secret. The SDK's error is dropped, because it includes the request with its body. */
export class ApiFault extends Error {
  readonly kind: FaultKind;

  constructor(kind: FaultKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Time limit of a call in milliseconds. A start may need several calls. */
const CALL_MS = 30_000;
const START_MS = 60_000;

/**
 * The five calls of Azure's management API that run jobs, without retries: how to react to a failure depends on the call, and the SDK would
 * repeat a POST that Azure may have carried out already. Each throws ApiFault.
 */
export class JobsApi {
  readonly #client: ContainerAppsAPIClient;
  readonly #group: string;

  private constructor(client: ContainerAppsAPIClient, group: string) {
    this.#client = client;
    this.#group = group;
  }

  static async open(subscription: string, resourceGroup: string, options: ApiOptions): Promise<JobsApi> {
    const load = () => Promise.all([import("@azure/arm-appcontainers"), import("@azure/identity")]);
    const [sdk, identity] = await withOptionalPackages("The executor container-apps", load);
    const { credential = new identity.DefaultAzureCredential() } = options;
    const client = { ...options.client, retryOptions: { maxRetries: 0 } };
    return new JobsApi(new sdk.ContainerAppsAPIClient(credential, subscription, client), resourceGroup);
  }

  job(job: string, signal: AbortSignal): Promise<Job> {
    return orFault(this.#client.jobs.get(this.#group, job, within(signal, CALL_MS)));
  }

  /**
   * Starts an execution. If Azure answers 202, waits until it has started.
   * @returns its name; undefined if Azure accepted the order but did not name the execution.
   */
  async start(job: string, template: JobExecutionTemplate, signal: AbortSignal): Promise<string | undefined> {
    const options = { ...within(signal, START_MS), template, updateIntervalInMs: 1_000 };
    const poller = this.#client.jobs.start(this.#group, job, options);
    await orFault(poller.submitted());
    return poller.pollUntilDone({ abortSignal: options.abortSignal }).then(
      ({ name }) => name,
      // The caller looks for it among the executions.
      () => undefined,
    );
  }

  async stop(job: string, execution: string, signal: AbortSignal): Promise<void> {
    const poller = this.#client.jobs.stopExecution(this.#group, job, execution, within(signal, CALL_MS));
    await orFault(poller.submitted());
  }

  execution(job: string, execution: string, signal: AbortSignal): Promise<JobExecution | undefined> {
    const found = this.#client.jobExecution(this.#group, job, execution, within(signal, CALL_MS));
    return orFault(found).catch((fault: ApiFault) => {
      if (fault.kind === "missing") return undefined;
      throw fault;
    });
  }

  /** The name of the execution of an attempt, running or ended; undefined if there is none. */
  find(job: string, order: JobOrder, signal: AbortSignal): Promise<string | undefined> {
    const executions = this.#client.jobsExecutions.list(this.#group, job, within(signal, CALL_MS));
    const search = async () => {
      for await (const execution of executions) if (carries(execution, order)) return execution.name;
      return undefined;
    };
    return orFault(search());
  }
}

function within(signal: AbortSignal, ms: number) {
  return { abortSignal: AbortSignal.any([signal, AbortSignal.timeout(ms)]) };
}

async function orFault<T>(call: PromiseLike<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw faultOf(error);
  }
}

// Azure's message may quote the request, which can contain a SAS among its URLs with any spelling of the ampersand.
const SECRETS = /((?:sig|signature|accountkey|password|secret|token)(?:=|%3d)|bearer\s+)[^&;#\s"'<>\\]+/gi;
const MAX_MESSAGE = 300;

/** @param error of the SDK. */
function faultOf(error: unknown): ApiFault {
  if (error instanceof ApiFault) return error;
  type SdkError = Partial<Error> & { readonly code?: string; readonly statusCode?: number };
  const { name = "", message, code, statusCode: status = 0 } = error as SdkError;
  const line = (message ?? String(error)).replaceAll(SECRETS, "$1…").replaceAll(/\s+/g, " ").trim();
  const text = line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE)}…` : line;
  // Of @azure/identity: there is no token, so nothing was sent.
  if (/^(Aggregate)?Authentication(Required)?Error$|^CredentialUnavailableError$/.test(name))
    return new ApiFault("denied", `no credentials: ${text}`);
  // 408: Azure stopped waiting, as a gateway does. That is as inconclusive as a 5xx or no status at all.
  const kinds = { 401: "denied", 403: "denied", 404: "missing", 408: "transient", 429: "throttled" } as const;
  const other = status >= 400 && status < 500 ? "refused" : "transient";
  const kind = kinds[status as keyof typeof kinds] ?? other;
  return new ApiFault(kind, [status || name, code, text].filter(Boolean).join(" "));
}

const [ID, ATTEMPT] = ["OPERATION_ID", "MUCAST_STATUS_ATTEMPT"];

/**
 * The template of an execution: the job's whole template, with the order and the settings in the env of one container. Azure uses it in
 * place of the job's template, so it must be complete.
 * @throws MucastError unavailable if the job has no container.
 */
export function executionTemplate(
  job: Job,
  jobName: string,
  order: JobOrder,
  settings: Readonly<Record<string, string>> = {},
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

function orderEnv(order: JobOrder): Record<string, string> {
  const { config, operation, options = {}, space, traceparent } = order;
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
