import { type ChildProcess, spawn } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { withoutSignature } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { onLines } from "../../engine/lines.ts";
import { memoryOf } from "../../engine/process-memory.ts";
import { sweepWorkFolders } from "../../jobs/shared/work-folder.ts";
import type { ExecutionListener, JobOrder, StopReason } from "../executor.ts";
import { readMessage } from "./event-pipe.ts";
import type { BudgetedProcess } from "./memory-budget.ts";
import {
  type FromJob,
  type JobEnd,
  type JobMeans,
  type JobStorage,
  MAX_MESSAGE_LENGTH,
  MESSAGE_DESCRIPTOR,
  type ToJob,
  WARM_FLAG,
} from "./messages.ts";
import { killGroup, killSession, processesOfSession } from "./process-group.ts";

export interface ChildOptions extends JobStorage, JobMeans {
  readonly env: Readonly<Record<string, string>>;
  /** Whether it starts an engine before it has an order. */
  readonly warm: boolean;
  /** Called with each line that the process prints, and the operation that it is running. */
  readonly log: (line: string, operationId: string | undefined) => void;
}

/** How an order ended, and how its process ended, if it did. */
export interface RunEnd {
  /** The end message of the job; undefined if there was none. */
  readonly end: JobEnd | undefined;
  /** Why the process could not start, or how it ended; undefined if it waits for another order. */
  readonly reason: string | undefined;
}

/** An order that a job process runs. */
export interface ChildRun {
  /** False if the process ended before it accepted the order. */
  readonly accepted: Promise<boolean>;
  /** Settles once nothing of the job runs any more; never rejects. */
  readonly ended: Promise<RunEnd>;
  /** Changes how many workers the job may have. Harmless when late. */
  setWorkers(workers: number): void;
  /** Asks the process to stop, and kills it if it has not ended in 5 s. Late calls are harmless. */
  stop(reason: StopReason): void;
}

/** The order that the process runs. */
interface CurrentRun {
  readonly order: JobOrder;
  readonly listener: ExecutionListener;
  readonly accepted: PromiseWithResolvers<boolean>;
  readonly ended: PromiseWithResolvers<RunEnd>;
  /** Set once the process has accepted the order. */
  isAccepted?: true;
  end?: JobEnd;
}

const HERE = import.meta.url;
const ENTRY = fileURLToPath(new URL(`./job-process${extname(HERE)}`, HERE));
const MAX_LINE_LENGTH = 64 * 2 ** 10;
/** The number of characters of a line that is no message to write to the log. */
const MAX_SHOWN_LENGTH = 200;
const GRACE_MILLISECONDS = 5_000;
/**
 * Time for a process to accept an order before it is killed. A ready process only waits for a line; before that, a busy machine may still
 * be loading its modules.
 */
const ACCEPT_MILLISECONDS = { ready: 10_000, starting: 120_000 };

/** The service's side of a job process. */
export class JobChild implements BudgetedProcess {
  /** Undefined if the system could not start one. */
  readonly pid: number | undefined;
  /** Settles with the reason once nothing of it runs any more and its work folder is removed; never rejects. */
  readonly ended: Promise<string>;
  /** Settles once its modules and, if it has one, its engine are loaded; or once it has ended. */
  readonly ready: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #readied = Promise.withResolvers<void>();
  #isReady = false;
  /** Writes a line to the service's log. */
  readonly #print: (line: string) => void;
  #run: CurrentRun | undefined;
  #gone = false;
  #killedBecause: string | undefined;
  /** How it ended, once it has. */
  #reason: string | undefined;

  constructor({ env, warm, log, ...setup }: ChildOptions) {
    this.#child = spawn(process.execPath, [ENTRY, ...(warm ? [WARM_FLAG] : [])], {
      env,
      // It leads its own group and session, so that both can be killed as a whole.
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
    // Undefined if this process has no descriptor left for a pipe; `ended` then settles with the reason.
    if (!this.#child.stdin) return;
    // A write to a process that has just died fails; `ended` settles with the reason.
    this.#child.stdin.on("error", () => undefined);
    onLines(this.#child.stdout!, this.#print, { longest: MAX_LINE_LENGTH });
    onLines(this.#child.stderr!, this.#print, { longest: MAX_LINE_LENGTH });
    const receive = (line: string) => {
      const message = readMessage(line);
      if (message) this.#receive(message);
      else this.#print(`it wrote something that is not a message: ${line.slice(0, MAX_SHOWN_LENGTH)}`);
    };
    const onLonger = () =>
      this.#print(`it wrote more than ${MAX_MESSAGE_LENGTH} characters at once; they were dropped`);
    const messages = this.#child.stdio[MESSAGE_DESCRIPTOR] as NodeJS.ReadableStream;
    onLines(messages, receive, { longest: MAX_MESSAGE_LENGTH, onLonger });
    this.#send({ op: "setup", ...setup });
  }

  /**
   * Gives it an order; it must not be running one. If it does not accept the order in time, for example after SIGSTOP, it is killed,
   * because the job would never end.
   */
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
    const acceptTimer = setTimeout(
      () => this.kill(),
      ACCEPT_MILLISECONDS[this.#isReady ? "ready" : "starting"],
    );
    void run.accepted.promise.then(() => clearTimeout(acceptTimer));
    return {
      accepted: run.accepted.promise,
      ended: run.ended.promise,
      setWorkers: (workers) => {
        if (this.#run === run) this.#send({ op: "workers", workers });
      },
      stop: (reason) => {
        if (this.#run === run) this.#stopFor(reason);
      },
    };
  }

  #stopFor(reason: StopReason): void {
    if (this.#gone) return;
    this.#send({ op: "stop", reason });
    const killTimer = setTimeout(() => this.kill(), GRACE_MILLISECONDS);
    void this.ended.then(() => clearTimeout(killTimer));
  }

  /** @param reason how the process ended; undefined if it did not. */
  #finish(run: CurrentRun, reason: string | undefined): void {
    if (this.#run === run) this.#run = undefined;
    run.accepted.resolve(false);
    run.ended.resolve({ end: run.end, reason });
  }

  /** Stops it. An order that it runs is lost. */
  stop(): void {
    this.#stopFor("draining");
  }

  get hasJob(): boolean {
    return this.#run?.isAccepted === true;
  }

  held(enough: number): number {
    return this.#gone || this.pid === undefined ? 0 : memoryOf(processesOfSession(this.pid) ?? [], enough);
  }

  /** Kills it. Its job ends with `error`, unless it has already reported its end. */
  killWith(error: MucastError): void {
    if (this.#run) this.#run.end ??= { problem: problemOf(error) };
    this.kill();
  }

  /** @param why reported as the reason of its end, instead of the signal. */
  kill(why?: string): void {
    this.#killedBecause ??= why;
    if (!this.#gone && this.pid !== undefined) killGroup(this.pid);
  }

  #receive(message: FromJob): void {
    switch (message.event) {
      case "ready":
        // The service may send an order before the first ready message; between accepted and end there is none.
        if (this.#run?.end !== undefined) this.#finish(this.#run, undefined);
        else if (this.#run?.isAccepted) this.killWith(noEnd());
        this.#isReady = true;
        this.#readied.resolve();
        break;
      case "accepted":
        this.#markAccepted();
        break;
      case "events":
        this.#run?.listener.onEvents(message.batch);
        break;
      case "log":
        this.#print(message.line);
        break;
      case "timings":
        this.#run?.listener.onTimings(message.timings);
        break;
      case "end":
        // Its accepted message may have been unreadable.
        this.#markAccepted();
        if (this.#run) this.#run.end = message.end;
        break;
      default:
        message satisfies never;
    }
  }

  #markAccepted(): void {
    if (this.#run) this.#run.isAccepted = true;
    this.#run?.accepted.resolve(true);
  }

  #send(message: ToJob): void {
    if (this.#child.stdin?.writable) this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async #watchEnd(temporary: string | undefined): Promise<string> {
    const closed = new Promise<void>((resolve) => this.#child.once("close", () => resolve()));
    const { reason, wasStarted, wasKilled } = await this.#exit();
    if (this.pid !== undefined) await killSession(this.pid);
    if (wasKilled) await sweepWorkFolders(temporary || "/tmp");
    // Not earlier: the other processes of its session keep its pipes open, and its last messages are still in them.
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
        const reason = this.#killedBecause ?? (signal ? `it was ended by ${signal}` : `exit code ${code}`);
        resolve({ reason, wasStarted: true, wasKilled: signal !== null });
      });
    });
  }
}

/** The end message is lost if a library printed into its line. */
function noEnd(): MucastError {
  return new MucastError(
    "internal",
    "the job's process did not say in words that can be read how the job ended",
  );
}
