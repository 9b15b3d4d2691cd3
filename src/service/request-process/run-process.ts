import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { withoutSignature } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { mib } from "../../engine/process-memory.ts";
import { Child } from "../../processes/child.ts";
import { UsageLimit } from "../../processes/usage-limit.ts";
import { abortError } from "../abort-error.ts";
import { type FromRequest, type RequestOrder, type ToRequest, WORK_WORDS } from "./messages.ts";

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

const HERE = import.meta.url;
const MODULE = fileURLToPath(new URL(`./request-process${extname(HERE)}`, HERE));
const MIB = 2 ** 20;
/** Its errors contain the last characters of its output. */
const MAX_OUTPUT_CHARACTERS = 4_000;
const MEMORY_PAUSE = { min: 200, max: Number.POSITIVE_INFINITY, factor: 50 };

/**
 * Runs an order in a separate process, and kills it if the signal aborts or it exceeds a limit.
 * @returns its answer, after all of it has ended.
 * @throws MucastError what the process answers; too_large above the limit for memory or for the answer, timed_out; process_lost if it
 * died, with its last output as `cause`; unavailable if the system cannot start a process; canceled.
 */
export async function runProcess(
  order: RequestOrder,
  { env, memoryBytes, seconds, answerBytes }: ProcessLimits,
  signal: AbortSignal,
): Promise<Buffer> {
  const work = WORK_WORDS[order.kind];
  if (signal.aborted) throw abortError(signal, work);
  let printed = "";
  let answer: FromRequest | undefined;
  let killedFor: MucastError | undefined;
  const child = new Child<ToRequest, FromRequest>({
    module: MODULE,
    env,
    nodeArguments: [`--max-old-space-size=${Math.ceil(memoryBytes / MIB)}`],
    runs: "request",
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
  const onAbort = () => kill(abortError(signal, work));
  signal.addEventListener("abort", onAbort);
  const late = `to ${work} took longer than ${seconds} s (request_seconds)`;
  const timeout = setTimeout(
    () => kill(new MucastError("timed_out", late, { limit: seconds })),
    seconds * 1_000,
  );
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
  clearTimeout(timeout);
  signal.removeEventListener("abort", onAbort);
  if (killedFor !== undefined) throw killedFor;
  const output = () => ({ cause: new Error(withoutSignature(printed || "it printed nothing")) });
  if (answer?.event === "answer") return Buffer.from(answer.bytes);
  if (answer !== undefined) {
    throw new MucastError(answer.code, answer.text, answer.data, answer.code === "internal" ? output() : {});
  }
  if (how === undefined)
    throw new MucastError("unavailable", "the system makes no further process now", {}, { cause: reason });
  if (/heap out of memory/i.test(printed)) throw tooLarge;
  const ended = how.signal ? `was ended by ${how.signal}` : `ended with exit code ${how.exitCode}`;
  throw new MucastError("process_lost", `the process that was to ${work} ${ended}`, {}, output());
}
