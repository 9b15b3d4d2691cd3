import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { withoutSignature } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { isRunning, isStopped, startTimeOf } from "../../contract/machine/process-stat.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { sweepWorkFolders, workFoldersOf } from "../../jobs/shared/work-folder.ts";
import { Child } from "../../processes/child.ts";
import { diskBytes } from "../../processes/usage-limit.ts";
import type { Execution, ExecutionEnd, ExecutionListener, JobOrder, StopReason } from "../executor.ts";
import type { FromJob, JobEnd, JobSetup, ToJob } from "./job-process.ts";

interface ChildOptions extends JobSetup {
  readonly env: Readonly<Record<string, string>>;
  /** Called with each line that the process prints, and the operation that it is running. */
  readonly log: (line: string, operationId: string | undefined) => void;
}

interface Run {
  readonly order: JobOrder;
  readonly listener: ExecutionListener;
  readonly ended: PromiseWithResolvers<ExecutionEnd>;
  /** Kills the process, if it still runs this order. The job fails, unless it has already reported its end. */
  readonly fail: (error: MucastError) => void;
  /** The first reason for which it was stopped. */
  stopped?: StopReason;
  end?: JobEnd;
}

const HERE = import.meta.url;
const MODULE = fileURLToPath(new URL(`./job-process${extname(HERE)}`, HERE));

const STOPPED = {
  canceled: "the job was stopped on request",
  timed_out: "the job was stopped at its time limit",
};

/** The service's side of a job process, which runs one order after the other. */
export class JobChild extends Child<ToJob, FromJob> {
  /** Settles once nothing of it runs any more and its work folder is removed; never rejects. `waited`: it had no order. */
  readonly gone: Promise<{ readonly reason: string; readonly waited: boolean }>;
  /** TMPDIR of the process. */
  readonly #temporary: string;
  #run: Run | undefined;

  constructor({ env, log, ...setup }: ChildOptions) {
    super({
      module: MODULE,
      env,
      runs: "jobs",
      onMessage: (message) => this.#receive(message),
      onLine: (line) => log(withoutSignature(line), this.#run?.order.id),
    });
    this.#temporary = temporaryOf(env);
    this.gone = this.ended.then(async ({ how, reason }) => {
      if (how?.signal) await sweepWorkFolders(this.#temporary);
      const waited = this.#run === undefined;
      this.#finish(reason);
      return { reason, waited };
    });
    this.send({ op: "setup", ...setup });
  }

  /** Starts an order; it must not be running one. @throws MucastError unavailable if the system does not show the process. */
  start(order: JobOrder, listener: ExecutionListener): Execution {
    const handle = this.#handle();
    const fail = (error: MucastError) => {
      if (this.#run !== run) return;
      run.end ??= { kind: "failed", problem: problemOf(error) };
      this.kill();
    };
    const run: Run = { order, listener, ended: Promise.withResolvers(), fail };
    this.#run = run;
    this.send({ op: "order", order });
    return {
      handle,
      ended: run.ended.promise,
      setWorkers: (workers) => {
        if (this.#run === run) this.send({ op: "workers", workers });
      },
      stop: (reason) => {
        run.stopped ??= reason;
        if (this.#run === run) this.stop();
      },
    };
  }

  /** An order that it runs is lost, unless it was stopped for another reason before. */
  override stop(): void {
    if (this.#run) this.#run.stopped ??= "draining";
    super.stop();
  }

  /** Whether it can take an order. The kernel knows of its death before this process does. */
  get waits(): boolean {
    if (this.isEnding || this.#run !== undefined) return false;
    try {
      return isRunning(this.pid!) && !isStopped(this.pid!);
    } catch {
      // There is no free descriptor to look it up.
      return false;
    }
  }

  /** Undefined while it waits for an order. */
  get run(): Pick<Run, "fail"> | undefined {
    return this.#run;
  }

  /** Bytes on disk of its temporary files. */
  async diskBytes(): Promise<number> {
    let bytes = 0;
    for (const folder of workFoldersOf(this.pid!, this.#temporary))
      bytes += await diskBytes(folder, this.pid!);
    return bytes;
  }

  #handle(): string {
    try {
      return `${this.pid}-${startTimeOf(this.pid!) ?? 0}`;
    } catch (cause) {
      this.kill();
      throw new MucastError("unavailable", "no job process can be looked up", {}, { cause });
    }
  }

  #receive(message: FromJob): void {
    const run = this.#run;
    switch (message.event) {
      case "events":
        run?.listener.onEvents(message.batch);
        break;
      case "timings":
        run?.listener.onTimings(message.timings);
        break;
      case "end":
        if (run) run.end ??= message.end;
        if (message.isLast) super.stop();
        else this.#finish("");
        break;
      default:
        message satisfies never;
    }
  }

  /** @param reason why the process ended, if it did. */
  #finish(reason: string): void {
    const run = this.#run;
    this.#run = undefined;
    if (run === undefined) return;
    const { end, stopped } = run;
    if (end?.kind === "succeeded") run.ended.resolve(end);
    else if (stopped === "draining") run.ended.resolve({ kind: "lost", reason: "the service released it" });
    else if (end !== undefined) run.ended.resolve(end);
    else if (stopped === undefined)
      run.ended.resolve({ kind: "lost", reason: `the job's process is gone: ${reason}` });
    else {
      const problem = problemOf(new MucastError(stopped, STOPPED[stopped]));
      run.ended.resolve({ kind: "failed", problem });
    }
  }
}

/** The folder for temporary files of a process with this environment, as `os.tmpdir` finds it. */
export function temporaryOf({ TMPDIR }: Readonly<Record<string, string>>): string {
  return TMPDIR || "/tmp";
}
