import { type ChildProcess, fork, type Serializable } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { memoryOf } from "../engine/process-memory.ts";
import { readLines } from "../engine/process-output.ts";
import { killGroup, killSession, processesOfSession } from "./process-group.ts";

/** A program of this package that opens a parent channel. */
interface ChildProgram<FromChild> {
  readonly module: string;
  readonly env: Readonly<Record<string, string>>;
  readonly nodeArguments?: readonly string[];
  /** Decides which processes the kernel kills first if the machine runs out of memory. */
  readonly runs: keyof typeof OOM_SCORES;
  readonly onMessage: (message: FromChild) => void;
  /** Called with each line that it, or a process that it started, prints. */
  readonly onLine: (line: string) => void;
}

/** How a child ended. */
interface ChildEnd {
  readonly how: { readonly exitCode: number | null; readonly signal: NodeJS.Signals | null } | undefined;
  /** The same in words, or why it could not start. */
  readonly reason: string;
}

/** Added to the out-of-memory score of a process: requests die before jobs, which cost more to repeat, and both before the service. */
const OOM_SCORES = { jobs: 500, request: 800 };
const MAX_OOM_SCORE = 1_000;
/** In characters; a longer line comes in pieces. */
const MAX_LINE_LENGTH = 64 * 2 ** 10;
const GRACE_MILLISECONDS = 5_000;

/**
 * A child process, seen from its parent. It leads its own group and session, so that it can be killed as a whole, and no signal of a
 * terminal reaches it. Messages go through Node's channel, which nothing that it prints can reach. If the parent dies, so does the child.
 */
export class Child<ToChild extends object, FromChild> {
  /** Undefined if the system could not start it. */
  readonly pid: number | undefined;
  /** Settles once nothing of it runs any more, and every message and line of it was received; never rejects. */
  readonly ended: Promise<ChildEnd>;
  /** Undefined if the system refused to start it at once. */
  readonly #process: ChildProcess | undefined;
  #isEnding = false;

  constructor({ module, env, nodeArguments = [], runs, onMessage, onLine }: ChildProgram<FromChild>) {
    try {
      this.#process = fork(module, {
        env,
        execArgv: [...nodeArguments],
        detached: true,
        serialization: "advanced",
        stdio: ["pipe", "pipe", "pipe", "ipc"],
      });
    } catch (error) {
      this.ended = Promise.resolve(notStarted(error));
      return;
    }
    this.pid = this.#process.pid;
    this.ended = endOf(this.#process);
    if (this.pid === undefined) return;
    offerToOomKiller(this.pid, OOM_SCORES[runs]);
    const { stdin, stdout, stderr } = this.#process;
    // Carries nothing: its end tells a thread of the child that this process has died.
    stdin!.on("error", () => undefined);
    for (const stream of [stdout, stderr]) readLines(stream!, onLine, MAX_LINE_LENGTH);
    this.#process.on("message", (message) => onMessage(message as FromChild));
  }

  /** A message to a process that has ended is lost. */
  send(message: ToChild): void {
    if (this.#process?.connected) this.#process.send(message as Serializable, () => undefined);
  }

  /** Whether it has ended, or was told to end. */
  get isEnding(): boolean {
    return this.#isEnding || !this.#isRunning;
  }

  get #isRunning(): boolean {
    return this.pid !== undefined && this.#process!.exitCode === null && this.#process!.signalCode === null;
  }

  /** Sends SIGTERM, and kills it 5 s later. */
  stop(): void {
    this.#isEnding = true;
    if (!this.#isRunning) return;
    this.#process!.kill("SIGTERM");
    const timer = setTimeout(() => this.kill(), GRACE_MILLISECONDS);
    void this.ended.then(() => clearTimeout(timer));
  }

  kill(): void {
    this.#isEnding = true;
    if (this.#isRunning) killGroup(this.pid!);
  }

  /** Bytes of memory that the process and everything it started hold. @param enough bytes below which a rough figure will do. */
  held(enough: number): number {
    return this.#isRunning ? memoryOf(processesOfSession(this.pid!) ?? [], enough) : 0;
  }
}

async function endOf(child: ChildProcess): Promise<ChildEnd> {
  const { pid } = child;
  if (pid === undefined) return once(child, "spawn").then(notStarted, notStarted);
  // The end of a started process explains its later errors.
  child.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const [exitCode, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.once("exit", (...how) => resolve(how));
  });
  await killSession(pid);
  // Not earlier: the other processes of its session keep its pipes open, and its last messages are still in them.
  await closed;
  return {
    how: { exitCode, signal },
    reason: signal ? `it was ended by ${signal}` : `exit code ${exitCode}`,
  };
}

function notStarted(error: unknown): ChildEnd {
  const message = error instanceof Error ? error.message : String(error);
  return { how: undefined, reason: `no process could be started: ${message}` };
}

/**
 * If the machine runs out of memory, makes the kernel kill a process and what it starts from now on before this process, which then can
 * report the failure. Does nothing on a system without such scores (macOS).
 */
function offerToOomKiller(pid: number, more: number): void {
  try {
    const score = Number(readFileSync("/proc/self/oom_score_adj", "latin1")) + more;
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(Math.min(MAX_OOM_SCORE, score)));
  } catch {
    // There is no such file, or the process has ended.
  }
}
