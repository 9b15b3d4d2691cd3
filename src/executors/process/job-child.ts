import { type ChildProcess, spawn } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { withoutSignature } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/errors/problem.ts";
import { onLines } from "../../engine/lines.ts";
import { memoryOf } from "../../engine/process-memory.ts";
import { sweepWorkFolders } from "../../jobs/shared/work-folder.ts";
import type { ExecutionListener, JobOrder, StopReason } from "../executor.ts";
import { readMessage } from "./event-pipe.ts";
import type { BudgetedProcess } from "./memory-budget.ts";
import {
  type FromJob,
  type JobEnd,
  type JobStorage,
  LONGEST_MESSAGE,
  MESSAGE_DESCRIPTOR,
  type ToJob,
  WARM_FLAG,
} from "./messages.ts";
import { endSession, killGroup, processesOfSession } from "./process-group.ts";

export interface ChildOptions extends JobStorage {
  /** Bytes that its job may hold with all that it starts. */
  readonly memoryBytes: number;
  readonly env: Readonly<Record<string, string>>;
  /** Whether it starts an engine before it has an order. */
  readonly warm: boolean;
  /** Gets what it prints, line by line, with the operation it is at. */
  readonly log: (line: string, operationId: string | undefined) => void;
  /** Milliseconds in which it takes an order, or is killed; 10 s by default once it is ready, 120 s before. */
  readonly accept?: { readonly ready: number; readonly starting: number } | undefined;
}

/** How an order ended, and with what its process, where that did. */
export interface RunEnd {
  /** What the process said of its job; undefined where it said nothing. */
  readonly told: JobEnd | undefined;
  /** Why no process could be made, or how it ended; undefined where it waits for another order. */
  readonly reason: string | undefined;
}

/** An order in the hands of a job process. */
export interface ChildRun {
  /** False where the process ended before it had taken the order. */
  readonly accepted: Promise<boolean>;
  /** Settles once nothing of the job runs any more; never rejects. */
  readonly ended: Promise<RunEnd>;
  /** Asks the process to end in order, and kills it where it does not in a few seconds. Harmless when late. */
  stop(reason: StopReason): void;
}

/** The order that a process is at. */
interface CurrentRun {
  readonly order: JobOrder;
  readonly listener: ExecutionListener;
  readonly accepted: PromiseWithResolvers<boolean>;
  readonly ended: PromiseWithResolvers<RunEnd>;
  /** Set once the process has taken it. */
  isAccepted?: true;
  told?: JobEnd;
}

const HERE = import.meta.url;
const ENTRY = fileURLToPath(new URL(`./job-process${extname(HERE)}`, HERE));
const LONGEST_LINE = 64 * 2 ** 10;
/** Characters of what is no message. */
const LONGEST_SHOWN = 200;
const GRACE_MILLISECONDS = 5_000;
/** One that is ready only waits for a line; before, a busy machine loads its modules. */
const ACCEPT_MILLISECONDS = { ready: 10_000, starting: 120_000 };

/** A job process as the service sees it. */
export class JobChild implements BudgetedProcess {
  /** Undefined where the system made none. */
  readonly pid: number | undefined;
  /** Settles with the reason once nothing of it runs any more, and its work folder is gone; never rejects. */
  readonly ended: Promise<string>;
  /** Its modules are loaded, and its engine, where it has one; or it has ended. */
  readonly ready: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #readied = Promise.withResolvers<void>();
  readonly #accept: { readonly ready: number; readonly starting: number };
  #isReady = false;
  /** Gets a line for the service's log. */
  readonly #print: (line: string) => void;
  #run: CurrentRun | undefined;
  #gone = false;
  /** With what it ended, once it has. */
  #reason: string | undefined;

  constructor({ env, warm, log, blobUrl, policy, memoryBytes, accept = ACCEPT_MILLISECONDS }: ChildOptions) {
    this.#accept = accept;
    this.#child = spawn(process.execPath, [ENTRY, ...(warm ? [WARM_FLAG] : [])], {
      env,
      // A group of its own, and a session: both can be ended whole.
      detached: true,
      stdio: ["pipe", "pipe", "pipe", "pipe"],
    });
    this.#print = (line) => log(withoutSignature(line), this.#run?.order.id);
    this.pid = this.#child.pid;
    this.ended = this.#watchEnd(env.TMPDIR);
    this.ready = Promise.race([this.#readied.promise, this.ended]);
    void this.ended.then((reason) => {
      this.#reason = reason;
      if (this.#run) this.#finish(this.#run, reason);
    });
    // None has been made where this process has no descriptor left for it; its end tells so.
    if (!this.#child.stdin) return;
    // Writing to a process that has just died is told by its end.
    this.#child.stdin.on("error", () => undefined);
    onLines(this.#child.stdout!, this.#print, { longest: LONGEST_LINE });
    onLines(this.#child.stderr!, this.#print, { longest: LONGEST_LINE });
    const receive = (line: string) => {
      const message = readMessage(line);
      if (message) this.#receive(message);
      else this.#print(`what it told is no message: ${line.slice(0, LONGEST_SHOWN)}`);
    };
    const onLonger = () =>
      this.#print(`it told more than ${LONGEST_MESSAGE} characters at once; they were dropped`);
    const messages = this.#child.stdio[MESSAGE_DESCRIPTOR] as NodeJS.ReadableStream;
    onLines(messages, receive, { longest: LONGEST_MESSAGE, onLonger });
    this.#send({ op: "setup", blobUrl, policy, memoryBytes });
  }

  /** Hands it an order; it is at none. One that stands still, as after SIGSTOP, is killed: its job would have no end. */
  give(order: JobOrder, listener: ExecutionListener): ChildRun {
    const run: CurrentRun = {
      order,
      listener,
      accepted: Promise.withResolvers(),
      ended: Promise.withResolvers(),
    };
    this.#run = run;
    if (this.#reason !== undefined) this.#finish(run, this.#reason);
    else this.#send({ op: "order", order });
    const impatience = setTimeout(() => this.kill(), this.#accept[this.#isReady ? "ready" : "starting"]);
    void run.accepted.promise.then(() => clearTimeout(impatience));
    return {
      accepted: run.accepted.promise,
      ended: run.ended.promise,
      stop: (reason) => {
        if (this.#run === run) this.#stopFor(reason);
      },
    };
  }

  #stopFor(reason: StopReason): void {
    if (this.#gone) return;
    this.#send({ op: "stop", reason });
    const impatience = setTimeout(() => this.kill(), GRACE_MILLISECONDS);
    void this.ended.then(() => clearTimeout(impatience));
  }

  /** @param reason how the process ended; undefined where it did not. */
  #finish(run: CurrentRun, reason: string | undefined): void {
    if (this.#run === run) this.#run = undefined;
    run.accepted.resolve(false);
    run.ended.resolve({ told: run.told, reason });
  }

  /** Ends it in an orderly way; an order that it runs is lost. */
  stop(): void {
    this.#stopFor("draining");
  }

  get hasJob(): boolean {
    return this.#run?.isAccepted === true;
  }

  held(enough: number): number {
    return this.#gone || this.pid === undefined ? 0 : memoryOf(processesOfSession(this.pid) ?? [], enough);
  }

  /** Kills it; its job ends with `error`, unless it has said already how it ended. */
  killWith(error: MucastError): void {
    if (this.#run) this.#run.told ??= { problem: problemOf(error) };
    this.kill();
  }

  kill(): void {
    if (!this.#gone && this.pid !== undefined) killGroup(this.pid);
  }

  #receive(message: FromJob): void {
    switch (message.event) {
      case "ready":
        // It may have been given an order before it first said that it was ready for one.
        if (this.#run?.told !== undefined) this.#finish(this.#run, undefined);
        else if (this.#isReady && this.#run?.isAccepted) this.killWith(noEnd());
        this.#isReady = true;
        this.#readied.resolve();
        break;
      case "accepted":
        this.#takeOrder();
        break;
      case "job":
        this.#run?.listener.onEvent(message.job);
        break;
      case "log":
        this.#print(message.line);
        break;
      case "timings":
        this.#run?.listener.onTimings(message.timings);
        break;
      case "end":
        // Where what it told before could not be read.
        this.#takeOrder();
        if (this.#run) this.#run.told = message.end;
        break;
      default:
        message satisfies never;
    }
  }

  #takeOrder(): void {
    if (this.#run) this.#run.isAccepted = true;
    this.#run?.accepted.resolve(true);
  }

  #send(message: ToJob): void {
    if (this.#child.stdin?.writable) this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async #watchEnd(temporary: string | undefined): Promise<string> {
    const closed = new Promise<void>((resolve) => this.#child.once("close", () => resolve()));
    const { reason, wasStarted, wasKilled } = await this.#exit();
    if (this.pid !== undefined) await endSession(this.pid);
    if (wasKilled) await sweepWorkFolders(temporary || "/tmp");
    // Not before: what is left of its session holds its pipes open. What it said last is still in them.
    if (wasStarted) await closed;
    return reason;
  }

  #exit(): Promise<{ reason: string; wasStarted: boolean; wasKilled: boolean }> {
    return new Promise((resolve) => {
      this.#child.once("error", (error) => {
        const reason = `no process could be started: ${error.message}`;
        resolve({ reason, wasStarted: false, wasKilled: false });
      });
      this.#child.once("exit", (code, signal) => {
        this.#gone = true;
        const reason = signal ? `it was ended by ${signal}` : `exit code ${code}`;
        resolve({ reason, wasStarted: true, wasKilled: signal !== null });
      });
    });
  }
}

/** Its last word is lost where something else stood in that line. */
function noEnd(): MucastError {
  return new MucastError(
    "internal",
    "the job's process did not say in words that can be read how the job ended",
  );
}
