import { type ChildProcess, spawn } from "node:child_process";
import { extname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { withoutSignature } from "../../blob/policy.ts";
import { ERROR_TABLE, type ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { memoryOf, mib } from "../../engine/process-memory.ts";
import { killGroup } from "../../executors/process/process-group.ts";
import { abortError } from "../abort-error.ts";
import type { RequestKind } from "../telemetry/telemetry.ts";
import { ANSWER_DESCRIPTOR, type AnswerHead, type RequestOrder } from "./messages.ts";

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
  try {
    return await running.answer();
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

const HERE = import.meta.url;
const ENTRY = fileURLToPath(new URL(`./request-process${extname(HERE)}`, HERE));
const MIB = 2 ** 20;
const MEMORY_POLL_MILLISECONDS = 100;
const MAX_HEAD_BYTES = 256 * 2 ** 10;
const LINE_FEED = 10;
/** Its errors contain the last characters of its output. */
const MAX_OUTPUT_CHARACTERS = 4_000;

/** The service's side of a process. */
class RequestProcess {
  readonly #child: ChildProcess;
  readonly #limits: ProcessLimits;
  readonly #work: string;
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #said = "";
  /** Why it was killed. */
  #killedFor: MucastError | undefined;

  /** @throws MucastError unavailable if the system cannot start a process. */
  constructor(order: RequestOrder, limits: ProcessLimits) {
    this.#limits = limits;
    this.#work = WORK_WORDS[order.kind];
    this.#child = startChild(limits);
    const { stdin, stderr, stdio } = this.#child as ChildProcess & { stdin: Writable; stderr: Readable };
    const answer = stdio[ANSWER_DESCRIPTOR] as Readable;
    // Errors of a pipe of a process that has just died are ignored; its end explains them.
    for (const pipe of [stdin, stderr, answer]) pipe.on("error", () => undefined);
    const checkMemory = setInterval(() => this.#checkMemory(), MEMORY_POLL_MILLISECONDS);
    const timeout = setTimeout(() => this.kill(this.#timedOut()), limits.seconds * 1_000);
    this.#timers = [checkMemory, timeout];
    stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#said = `${this.#said}${text}`.slice(-MAX_OUTPUT_CHARACTERS);
    });
    answer.on("data", (piece: Buffer) => this.#take(piece));
    stdin.write(`${JSON.stringify(order)}\n`);
  }

  /** Kills it and makes the error its answer. */
  kill(error: MucastError): void {
    this.#killedFor ??= error;
    if (this.#child.pid !== undefined) killGroup(this.#child.pid);
  }

  /** Resolves when all of it has ended. */
  async answer(): Promise<Buffer> {
    const ended = await endOf(this.#child);
    for (const timer of this.#timers) clearTimeout(timer);
    if (this.#killedFor !== undefined) throw this.#killedFor;
    const answer = Buffer.concat(this.#pieces);
    const at = answer.indexOf(LINE_FEED);
    const head = at < 0 ? undefined : (JSON.parse(answer.toString("utf8", 0, at)) as AnswerHead);
    if (head !== undefined && "error" in head) throw this.#errorOf(head.error);
    if (head?.bytes === answer.length - at - 1) return answer.subarray(at + 1);
    throw /heap out of memory/i.test(this.#said) ? this.#tooMuchMemory() : this.#lost(ended);
  }

  #take(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#limits.answerBytes + MAX_HEAD_BYTES) this.kill(this.#tooLong());
    else this.#pieces.push(piece);
  }

  #checkMemory(): void {
    const { pid } = this.#child;
    const { memoryBytes } = this.#limits;
    if (pid !== undefined && memoryOf([pid], memoryBytes) > memoryBytes) this.kill(this.#tooMuchMemory());
  }

  #errorOf({ code, message, data }: Extract<AnswerHead, { error: unknown }>["error"]): MucastError {
    const cause = new Error(withoutSignature(this.#said));
    const known = Object.hasOwn(ERROR_TABLE, code) ? (code as ErrorCode) : "internal";
    return new MucastError(known, message, data, known === "internal" ? { cause } : {});
  }

  #tooMuchMemory(): MucastError {
    const { memoryBytes } = this.#limits;
    const message = `to ${this.#work} takes more than ${mib(memoryBytes)} of memory (request_memory_bytes)`;
    return new MucastError("too_large", message, { limit: memoryBytes });
  }

  #timedOut(): MucastError {
    const { seconds } = this.#limits;
    const message = `to ${this.#work} took longer than ${seconds} s (request_seconds)`;
    return new MucastError("timed_out", message, { limit: seconds });
  }

  #tooLong(): MucastError {
    const { answerBytes } = this.#limits;
    const message = `to ${this.#work} gave more than ${mib(answerBytes)}, the most that the service answers`;
    return new MucastError("too_large", message, { limit: answerBytes });
  }

  #lost(ended: string): MucastError {
    const cause = new Error(withoutSignature(this.#said || "it said nothing"));
    return new MucastError("process_lost", `the process that was to ${this.#work} ${ended}`, {}, { cause });
  }
}

/** @throws MucastError unavailable. */
function startChild({ env, memoryBytes }: ProcessLimits): ChildProcess {
  const heap = `--max-old-space-size=${Math.ceil(memoryBytes / MIB)}`;
  try {
    // A separate group, so that it can be killed completely, and no signal of a terminal reaches it.
    const child = spawn(process.execPath, [heap, ENTRY], {
      env,
      detached: true,
      stdio: ["pipe", "ignore", "pipe", "pipe"],
    });
    child.on("error", () => undefined);
    if (child.pid !== undefined && child.stdin && child.stderr) return child;
  } catch (cause) {
    throw noProcess(cause);
  }
  throw noProcess(undefined);
}

function noProcess(cause: unknown): MucastError {
  return new MucastError("unavailable", "the system makes no further process now", {}, { cause });
}

/** How it ended, once its pipes are closed. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("close", (code, signal) =>
      resolve(signal ? `was ended by ${signal}` : `ended with exit code ${code}`),
    );
  });
}
