import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { credentialsFor, withoutSignature } from "../../blob/policy.ts";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { type ErrorData, MucastError } from "../../contract/errors/errors.ts";
import type { Settings } from "../../contract/settings.ts";
import { mib } from "../../engine/process-memory.ts";
import type { JobInputs } from "../../executors/executor.ts";
import { sweepWorkFolders } from "../../jobs/shared/work-folder.ts";
import type { PrepareOptions } from "../../prepare/prepare-prices.ts";
import { Child, childEnvironment, temporaryOf } from "../../processes/child.ts";
import { UsageLimit } from "../../processes/usage-limit.ts";
import type { StorageAccess } from "../blobs/storage.ts";
import type { Log } from "../telemetry/log.ts";
import type { RequestKind, Telemetry } from "../telemetry/telemetry.ts";

/** The only message to a process of a request. A larger answer is not sent. */
export interface ToRequest {
  readonly order: RequestOrder;
  readonly answerBytes: number;
}

export type RequestOrder = ReportOrder | PrepareOrder | ValidateOrder | TrackOrder;

export interface ReportOrder {
  readonly kind: "report";
  readonly storage: StorageAccess;
  readonly outputs: readonly { readonly space: string; readonly name: string; readonly etag: string }[];
}

export interface PrepareOrder {
  readonly kind: "prepare";
  readonly folder: string;
  /** Path of a file in the folder: prices, or a form of `multipartType`. */
  readonly body: string;
  readonly multipartType?: string | undefined;
  readonly options: PrepareOptions;
  readonly csvBytes: number;
  readonly tickers: number;
  readonly blobBytes: number;
}

export interface ValidateOrder {
  readonly kind: "validate";
  readonly storage: StorageAccess;
  /** Their `options` are those of a payload of validate_job. */
  readonly inputs: JobInputs;
}

interface TrackOrder {
  readonly kind: "track";
  readonly storage: StorageAccess;
  readonly space: string;
  readonly name: string;
  /** Maximum duration of the requests to the tracker. */
  readonly seconds: number;
}

export type FromRequest =
  | { readonly event: "answer"; readonly bytes: Uint8Array }
  | { readonly event: "too_long" }
  | { readonly event: "failed"; readonly code: ErrorCode; readonly text: string; readonly data: ErrorData };

const WORK_WORDS = {
  prepare: "prepare the blobs",
  report: "draw the report",
  track: "record the run",
  validate: "preview the job",
} as const satisfies Record<RequestKind, string>;

const MODULE = fileURLToPath(new URL(`./request-process${extname(import.meta.url)}`, import.meta.url));
const MAX_ANSWER = 64 * 2 ** 20;
const RETRY_SECONDS = 5;
/** The error of a process has the last characters of its output. */
const MAX_OUTPUT_CHARACTERS = 4_000;
const MEMORY_PAUSE = { min: 200, max: Number.POSITIVE_INFINITY, factor: 50 };

export interface ProcessLimits {
  readonly env: Readonly<Record<string, string>>;
  readonly memoryBytes: number;
  readonly seconds: number;
  readonly answerBytes?: number;
}

interface RequestProcessesParts {
  readonly settings: Pick<Settings, "request_processes" | "request_memory_bytes" | "request_seconds">;
  readonly env: NodeJS.ProcessEnv;
  readonly storage: { readonly access: StorageAccess };
  readonly log: Pick<Log, "info">;
  readonly telemetry: Pick<Telemetry, "requestProcessEnded">;
}

export class RequestProcesses {
  readonly #parts: RequestProcessesParts;
  readonly #running = new Set<Promise<unknown>>();

  constructor(parts: RequestProcessesParts) {
    this.#parts = parts;
  }

  get running(): number {
    return this.#running.size;
  }

  async run(order: RequestOrder, signal: AbortSignal): Promise<Buffer> {
    const { settings, storage, telemetry, log } = this.#parts;
    const { kind } = order;
    if (this.#running.size >= settings.request_processes) {
      const message = `${this.#running.size} other requests draw a report, prepare blobs or preview a job; try again later`;
      throw new MucastError("unavailable", message, { retryAfter: RETRY_SECONDS });
    }
    const startedAt = performance.now();
    const env = childEnvironment(this.#parts.env, credentialsFor(storage.access.policy));
    const { request_memory_bytes: memoryBytes, request_seconds: seconds } = settings;
    const working = runProcess(order, { env, memoryBytes, seconds }, signal);
    this.#running.add(working);
    const outcome = await outcomeOf(working);
    this.#running.delete(working);
    telemetry.requestProcessEnded(kind, outcome);
    const ms = Math.round(performance.now() - startedAt);
    log.info({ kind, outcome, ms }, "a process of a request ended");
    return working;
  }

  /** Waits for the processes of requests that the closing service has ended. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}

export function outcomeOf(working: Promise<unknown>): Promise<"done" | ErrorCode> {
  return working.then(
    () => "done",
    (error: unknown) => (error instanceof MucastError ? error.code : "internal"),
  );
}

/** Kills the process if the signal aborts or it exceeds a limit. @returns its answer, after all of it has ended. */
export async function runProcess(
  order: RequestOrder,
  { env, memoryBytes, seconds, answerBytes = MAX_ANSWER }: ProcessLimits,
  signal: AbortSignal,
): Promise<Buffer> {
  const work = WORK_WORDS[order.kind];
  // Over MCP, the reason is an error of its SDK.
  const aborted = () =>
    signal.reason instanceof MucastError
      ? signal.reason
      : new MucastError("canceled", `the request to ${work} was aborted`);
  if (signal.aborted) throw aborted();
  let printed = "";
  let answer: FromRequest | undefined;
  let killedFor: MucastError | undefined;
  const child = new Child<ToRequest, FromRequest>({
    module: MODULE,
    env,
    nodeArguments: [`--max-old-space-size=${Math.ceil(memoryBytes / 2 ** 20)}`],
    onMessage: (message) => {
      answer = message;
    },
    onLine: (line) => {
      printed = `${printed}${line}\n`.slice(-MAX_OUTPUT_CHARACTERS);
    },
  });
  child.send({ order, answerBytes });
  const kill = (error: MucastError) => {
    killedFor ??= error;
    child.kill();
  };
  const late = `to ${work} took longer than ${seconds} s (request_seconds)`;
  const timeout = () => kill(new MucastError("timed_out", late, { limit: seconds }));
  const timer = setTimeout(timeout, seconds * 1_000);
  const abort = () => kill(aborted());
  signal.addEventListener("abort", abort);
  const large = `to ${work} takes more than ${mib(memoryBytes)} of memory (request_memory_bytes)`;
  const tooLarge = new MucastError("too_large", large, { limit: memoryBytes });
  const memory = new UsageLimit({
    measure: async () => [{ user: child, bytes: child.held(memoryBytes) }],
    limit: () => memoryBytes,
    onOver: () => kill(tooLarge),
    pause: MEMORY_PAUSE,
  });
  void memory.start();
  const { how, reason } = await child.ended;
  memory.stop();
  clearTimeout(timer);
  signal.removeEventListener("abort", abort);
  if (how?.signal) await sweepWorkFolders(temporaryOf(env));
  if (killedFor !== undefined) throw killedFor;
  const output = () => ({ cause: new Error(withoutSignature(printed || "it printed nothing")) });
  if (answer?.event === "answer") return Buffer.from(answer.bytes);
  if (answer?.event === "too_long") {
    const long = `to ${work} gave more than ${mib(answerBytes)}, the most that the service answers`;
    throw new MucastError("too_large", long, { limit: answerBytes });
  }
  if (answer !== undefined) {
    throw new MucastError(answer.code, answer.text, answer.data, answer.code === "internal" ? output() : {});
  }
  if (how === undefined)
    throw new MucastError("unavailable", "the system makes no further process now", {}, { cause: reason });
  if (/heap out of memory/i.test(printed)) throw tooLarge;
  const ended = how.signal ? `was ended by ${how.signal}` : `ended with exit code ${how.exitCode}`;
  throw new MucastError("process_lost", `the process that was to ${work} ${ended}`, {}, output());
}
