import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { withoutSignature } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { mib } from "../../engine/process-memory.ts";
import { type BudgetedProcess, MemoryBudget } from "../../processes/memory-budget.ts";
import { type ProcessEnd, SupervisedProcess } from "../../processes/supervised-process.ts";
import { abortError } from "../abort-error.ts";
import type { RequestKind } from "../telemetry/telemetry.ts";
import type { FromRequest, RequestOrder } from "./messages.ts";

/** The limits of a process. */
export interface ProcessLimits {
  readonly env: Readonly<Record<string, string>>;
  /** Maximum memory in bytes (request_memory_bytes). */
  readonly memoryBytes: number;
  /** Maximum duration (request_seconds). */
  readonly seconds: number;
  /** Bytes of its answer. */
  readonly answerBytes: number;
}

/** What each kind of process does, for errors. */
export const WORK_WORDS: Readonly<Record<RequestKind, string>> = {
  prepare: "prepare the blobs",
  report: "draw the report",
  track: "record the run",
};

/**
 * Runs an order in a separate process, and kills it if the signal aborts or it exceeds a limit.
 * @returns its answer, after all of it has ended.
 * @throws MucastError what the process answers; too_large above the limit for memory or for the answer, timed_out; process_lost if it
 * died, with its last output as `cause`; unavailable if the system cannot start a process; canceled.
 */
export async function runProcess(
  order: RequestOrder,
  limits: ProcessLimits,
  signal: AbortSignal,
): Promise<Buffer> {
  if (signal.aborted) throw abortError(signal, WORK_WORDS[order.kind]);
  const running = new RequestProcess(order, limits);
  const abort = () => running.kill(abortError(signal, WORK_WORDS[order.kind]));
  signal.addEventListener("abort", abort);
  const timeout = setTimeout(() => running.onTimeout(), limits.seconds * 1_000);
  const memory = new MemoryBudget({ limitBytes: limits.memoryBytes, processes: () => [running] });
  memory.start();
  try {
    return await running.answer();
  } finally {
    memory.stop();
    clearTimeout(timeout);
    signal.removeEventListener("abort", abort);
  }
}

const HERE = import.meta.url;
const MODULE = fileURLToPath(new URL(`./request-process${extname(HERE)}`, HERE));
const MIB = 2 ** 20;
/** Its errors contain the last characters of its output. */
const MAX_OUTPUT_CHARACTERS = 4_000;

/** The service's side of a process. */
class RequestProcess implements BudgetedProcess {
  readonly hasJob = true;
  readonly #process: SupervisedProcess<RequestOrder, FromRequest>;
  readonly #limits: ProcessLimits;
  readonly #work: string;
  readonly #pieces: Uint8Array[] = [];
  #bytes = 0;
  #isComplete = false;
  #printed = "";
  #failed: Extract<FromRequest, { event: "failed" }> | undefined;
  /** Why it was killed. */
  #killedFor: MucastError | undefined;

  constructor(order: RequestOrder, limits: ProcessLimits) {
    this.#limits = limits;
    this.#work = WORK_WORDS[order.kind];
    this.#process = new SupervisedProcess({
      module: MODULE,
      env: limits.env,
      nodeArguments: [`--max-old-space-size=${Math.ceil(limits.memoryBytes / MIB)}`],
      runs: "request",
      onMessage: (message) => this.#receive(message),
      onLine: (line) => {
        this.#printed = `${this.#printed}${line}\n`.slice(-MAX_OUTPUT_CHARACTERS);
      },
    });
    this.#process.send(order);
  }

  /** Kills it and makes the error its answer. */
  kill(error: MucastError): void {
    this.#killedFor ??= error;
    this.#process.kill();
  }

  held(enough: number): number {
    return this.#process.held(enough);
  }

  onOverLimit(): void {
    this.kill(this.#tooMuchMemory());
  }

  onTimeout(): void {
    const { seconds } = this.#limits;
    const message = `to ${this.#work} took longer than ${seconds} s (request_seconds)`;
    this.kill(new MucastError("timed_out", message, { limit: seconds }));
  }

  /** Resolves when all of it has ended. */
  async answer(): Promise<Buffer> {
    const { how, reason } = await this.#process.ended;
    if (this.#killedFor !== undefined) throw this.#killedFor;
    if (this.#failed !== undefined) throw this.#errorOf(this.#failed);
    if (this.#isComplete) return Buffer.concat(this.#pieces);
    if (how === undefined)
      throw new MucastError("unavailable", "the system makes no further process now", {}, { cause: reason });
    throw /heap out of memory/i.test(this.#printed) ? this.#tooMuchMemory() : this.#lost(how);
  }

  #receive(message: FromRequest): void {
    switch (message.event) {
      case "piece":
        this.#bytes += message.bytes.length;
        if (this.#bytes > this.#limits.answerBytes) this.kill(this.#tooLong());
        else this.#pieces.push(message.bytes);
        break;
      case "end":
        this.#isComplete = true;
        break;
      case "failed":
        this.#failed = message;
        break;
      default:
        message satisfies never;
    }
  }

  #errorOf({ code, text, data }: Extract<FromRequest, { event: "failed" }>): MucastError {
    return new MucastError(code, text, data, code === "internal" ? this.#cause() : {});
  }

  #tooMuchMemory(): MucastError {
    const { memoryBytes } = this.#limits;
    const message = `to ${this.#work} takes more than ${mib(memoryBytes)} of memory (request_memory_bytes)`;
    return new MucastError("too_large", message, { limit: memoryBytes });
  }

  #tooLong(): MucastError {
    const { answerBytes } = this.#limits;
    const message = `to ${this.#work} gave more than ${mib(answerBytes)}, the most that the service answers`;
    return new MucastError("too_large", message, { limit: answerBytes });
  }

  #lost({ exitCode, signal }: NonNullable<ProcessEnd["how"]>): MucastError {
    const ended = signal ? `was ended by ${signal}` : `ended with exit code ${exitCode}`;
    return new MucastError(
      "process_lost",
      `the process that was to ${this.#work} ${ended}`,
      {},
      this.#cause(),
    );
  }

  #cause(): { readonly cause: Error } {
    return { cause: new Error(withoutSignature(this.#printed || "it printed nothing")) };
  }
}
