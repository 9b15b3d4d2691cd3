import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { withoutSignature } from "../../blob/policy.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { type MemoryFacts, outOfMemory } from "../../engine/process-memory.ts";
import { sweepWorkFolders } from "../../jobs/shared/work-folder.ts";
import type { BudgetedProcess } from "../../processes/memory-budget.ts";
import { SupervisedProcess } from "../../processes/supervised-process.ts";
import type { ExecutionListener, JobOrder, StopReason } from "../executor.ts";
import type { FromJob, JobEnd, JobSetup, ToJob } from "./messages.ts";

export interface ChildOptions extends JobSetup {
  readonly env: Readonly<Record<string, string>>;
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
const MODULE = fileURLToPath(new URL(`./job-process${extname(HERE)}`, HERE));
const GRACE_MILLISECONDS = 5_000;
/**
 * Time for a process to accept an order before it is killed. A ready process only waits for a message; before that, a busy machine may still
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
  readonly #process: SupervisedProcess<ToJob, FromJob>;
  readonly #readied = Promise.withResolvers<void>();
  #isReady = false;
  /** Writes a line to the service's log. */
  readonly #print: (line: string) => void;
  #run: CurrentRun | undefined;
  /** How it ended, once it has. */
  #reason: string | undefined;

  constructor({ env, log, ...setup }: ChildOptions) {
    this.#print = (line) => log(withoutSignature(line), this.#run?.order.id);
    this.#process = new SupervisedProcess({
      module: MODULE,
      env,
      runs: "jobs",
      onMessage: (message) => this.#receive(message),
      onLine: this.#print,
    });
    this.pid = this.#process.pid;
    this.ended = this.#watchEnd(env.TMPDIR);
    this.ready = Promise.race([this.#readied.promise, this.ended]);
    this.#process.send({ op: "setup", ...setup });
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
    else this.#process.send({ op: "order", order });
    const acceptTimer = setTimeout(
      () => this.kill(),
      ACCEPT_MILLISECONDS[this.#isReady ? "ready" : "starting"],
    );
    void run.accepted.promise.then(() => clearTimeout(acceptTimer));
    return {
      accepted: run.accepted.promise,
      ended: run.ended.promise,
      setWorkers: (workers) => {
        if (this.#run === run) this.#process.send({ op: "workers", workers });
      },
      stop: (reason) => {
        if (this.#run === run) this.#stopFor(reason);
      },
    };
  }

  /** Stops it. An order that it runs is lost. */
  stop(): void {
    this.#stopFor("draining");
  }

  get hasJob(): boolean {
    return this.#run?.isAccepted === true;
  }

  held(enough: number): number {
    return this.#process.held(enough);
  }

  /** Kills it. Its job fails, unless it has already reported its end. */
  onOverLimit(facts: MemoryFacts): void {
    if (this.#run) this.#run.end ??= { problem: problemOf(outOfMemory(facts)) };
    this.kill();
  }

  /** @param why reported as the reason of its end, instead of the signal. */
  kill(why?: string): void {
    this.#process.kill(why);
  }

  #stopFor(reason: StopReason): void {
    if (this.#process.isGone) return;
    this.#process.send({ op: "stop", reason });
    const killTimer = setTimeout(() => this.kill(), GRACE_MILLISECONDS);
    void this.ended.then(() => clearTimeout(killTimer));
  }

  /** @param reason how the process ended; undefined if it did not. */
  #finish(run: CurrentRun, reason: string | undefined): void {
    if (this.#run === run) this.#run = undefined;
    run.accepted.resolve(false);
    run.ended.resolve({ end: run.end, reason });
  }

  #receive(message: FromJob): void {
    const run = this.#run;
    switch (message.event) {
      case "ready":
        // The service may send an order before the first ready message.
        if (run?.end !== undefined) this.#finish(run, undefined);
        this.#isReady = true;
        this.#readied.resolve();
        break;
      case "accepted":
        if (run) run.isAccepted = true;
        run?.accepted.resolve(true);
        break;
      case "events":
        run?.listener.onEvents(message.batch);
        break;
      case "log":
        this.#print(message.line);
        break;
      case "timings":
        run?.listener.onTimings(message.timings);
        break;
      case "end":
        if (run) run.end = message.end;
        break;
      default:
        message satisfies never;
    }
  }

  async #watchEnd(temporary: string | undefined): Promise<string> {
    const { how, reason } = await this.#process.ended;
    if (how?.signal) await sweepWorkFolders(temporary || "/tmp");
    this.#reason = reason;
    if (this.#run) this.#finish(this.#run, reason);
    return reason;
  }
}
