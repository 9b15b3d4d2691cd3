import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { withoutSignature } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { startTimeOf } from "../../contract/machine/process-stat.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { type MemoryFacts, mib, outOfMemory } from "../../engine/process-memory.ts";
import { sweepWorkFolders, workFoldersOf } from "../../jobs/shared/work-folder.ts";
import type { DiskFacts, DiskUser } from "../../processes/disk-budget.ts";
import { folderBytes, namelessBytes } from "../../processes/disk-usage.ts";
import type { BudgetedProcess } from "../../processes/memory-budget.ts";
import { SupervisedProcess } from "../../processes/supervised-process.ts";
import type { Execution, ExecutionEnd, ExecutionListener, JobOrder, StopReason } from "../executor.ts";
import type { FromJob, JobEnd, JobSetup, ToJob } from "./messages.ts";

export interface ChildOptions extends JobSetup {
  readonly env: Readonly<Record<string, string>>;
  /** Called with each line that the process prints, and the operation that it is running. */
  readonly log: (line: string, operationId: string | undefined) => void;
}

/** The order that the process runs. */
interface Run {
  readonly order: JobOrder;
  readonly listener: ExecutionListener;
  readonly accepted: PromiseWithResolvers<boolean>;
  readonly ended: PromiseWithResolvers<ExecutionEnd>;
  /** Set once the process has accepted the order. */
  isAccepted?: true;
  /** The first reason for which it was stopped. */
  stopped?: StopReason;
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

/** The service's side of a job process, which runs one order after the other. */
export class JobChild implements BudgetedProcess, DiskUser {
  /** Undefined if the system could not start one. */
  readonly pid: number | undefined;
  /** Settles with the reason once nothing of it runs any more and its work folder is removed; never rejects. */
  readonly ended: Promise<string>;
  /** Settles once its modules and, if it has one, its engine are loaded; or once it has ended. */
  readonly ready: Promise<unknown>;
  readonly #process: SupervisedProcess<ToJob, FromJob>;
  /** TMPDIR of the process. */
  readonly #temporary: string;
  readonly #readied = Promise.withResolvers<void>();
  #isReady = false;
  /** Writes a line to the service's log. */
  readonly #print: (line: string) => void;
  #run: Run | undefined;
  /** How it ended, once it has. */
  #reason: string | undefined;

  constructor({ env, log, ...setup }: ChildOptions) {
    this.#temporary = temporaryOf(env);
    this.#print = (line) => log(withoutSignature(line), this.#run?.order.id);
    this.#process = new SupervisedProcess({
      module: MODULE,
      env,
      runs: "jobs",
      onMessage: (message) => this.#receive(message),
      onLine: this.#print,
    });
    this.pid = this.#process.pid;
    this.ended = this.#watchEnd();
    this.ready = Promise.race([this.#readied.promise, this.ended]);
    this.#process.send({ op: "setup", ...setup });
  }

  /**
   * Starts an order; it must not be running one. If it does not accept the order in time, for example after SIGSTOP, it is killed, because
   * the job would never end.
   * @returns undefined if the process ended before it accepted the order.
   */
  async start(order: JobOrder, listener: ExecutionListener): Promise<Execution | undefined> {
    const handle = this.#handle();
    if (handle === undefined) return undefined;
    const run: Run = {
      order,
      listener,
      accepted: Promise.withResolvers(),
      ended: Promise.withResolvers(),
    };
    this.#run = run;
    this.#process.send({ op: "order", order });
    const patience = ACCEPT_MILLISECONDS[this.#isReady ? "ready" : "starting"];
    const acceptTimer = setTimeout(() => this.#process.kill(), patience);
    const isAccepted = await run.accepted.promise;
    clearTimeout(acceptTimer);
    if (!isAccepted) return undefined;
    return {
      handle,
      ended: run.ended.promise,
      setWorkers: (workers) => {
        if (this.#run === run) this.#process.send({ op: "workers", workers });
      },
      stop: (reason) => {
        run.stopped ??= reason;
        if (this.#run === run) this.#stopFor(run.stopped);
      },
    };
  }

  /** Stops it. An order that it runs is lost. */
  stop(): void {
    this.#stopFor("draining");
  }

  /** Whether it runs, or waits for, an order. */
  get isAlive(): boolean {
    return this.#reason === undefined;
  }

  get hasJob(): boolean {
    return this.job !== undefined;
  }

  get job(): object | undefined {
    return this.#run?.isAccepted ? this.#run : undefined;
  }

  held(enough: number): number {
    return this.#process.held(enough);
  }

  /** Bytes of the files in its work folders, including open files without a name. */
  async diskBytes(): Promise<number> {
    if (this.pid === undefined) return 0;
    let bytes = 0;
    for (const folder of workFoldersOf(this.pid, this.#temporary)) {
      bytes += (await folderBytes(folder)) + (await namelessBytes(this.pid, folder));
    }
    return bytes;
  }

  onOverLimit(facts: MemoryFacts): void {
    this.#fail(outOfMemory(facts));
  }

  onOverDisk({ held, limit, together }: DiskFacts): void {
    const others = together === held ? "" : `, and the files of all jobs together ${mib(together)}`;
    const message = `the job's temporary files took ${mib(held)}${others}, over the limit of ${mib(limit)} (work_bytes)`;
    this.#fail(new MucastError("output_failed", message, { held_bytes: held, limit_bytes: limit }));
  }

  /** Kills it. Its job fails, unless it has already reported its end. */
  #fail(error: MucastError): void {
    if (this.#run) this.#run.end ??= { problem: problemOf(error) };
    this.#process.kill();
  }

  /** Kills it, because it was stopped by a signal (SIGSTOP). */
  readonly onStopped = (why: string): void => this.#process.kill(why);

  #stopFor(reason: StopReason): void {
    if (this.#process.isGone) return;
    this.#process.send({ op: "stop", reason });
    const killTimer = setTimeout(() => this.#process.kill(), GRACE_MILLISECONDS);
    void this.ended.then(() => clearTimeout(killTimer));
  }

  /** Pid and start time, which identify the process permanently; undefined if it has ended, or cannot be looked up. */
  #handle(): string | undefined {
    if (!this.isAlive || this.pid === undefined) return undefined;
    try {
      return `${this.pid}-${startTimeOf(this.pid) ?? 0}`;
    } catch {
      this.stop();
      return undefined;
    }
  }

  #finish(): void {
    const run = this.#run;
    this.#run = undefined;
    run?.accepted.resolve(false);
    run?.ended.resolve(endOf(run, this.#reason));
  }

  #receive(message: FromJob): void {
    const run = this.#run;
    switch (message.event) {
      case "ready":
        // The service may send an order before the first ready message.
        if (run?.end !== undefined) this.#finish();
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

  async #watchEnd(): Promise<string> {
    const { how, reason } = await this.#process.ended;
    if (how?.signal) await sweepWorkFolders(this.#temporary);
    this.#reason = reason;
    this.#finish();
    return reason;
  }
}

/** The folder for temporary files of a process with this environment, as `os.tmpdir` finds it. */
export function temporaryOf({ TMPDIR }: Readonly<Record<string, string>>): string {
  return TMPDIR || "/tmp";
}

/** @param reason how the process ended, if it did. */
function endOf({ end, stopped }: Run, reason: string | undefined): ExecutionEnd {
  if (end !== undefined && "record" in end) return { kind: "succeeded", record: end.record };
  if (stopped === "draining") return { kind: "lost", reason: "the service released it" };
  if (end !== undefined) return { kind: "failed", problem: end.problem };
  if (stopped === undefined) return { kind: "lost", reason: `the job's process is gone: ${reason}` };
  const [code, why] =
    stopped === "canceled"
      ? (["canceled", "on request"] as const)
      : (["timed_out", "at its time limit"] as const);
  return { kind: "failed", problem: problemOf(new MucastError(code, `the job was stopped ${why}`)) };
}
