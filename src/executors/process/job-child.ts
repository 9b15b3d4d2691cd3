import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { withoutSignature } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { isRunning, isStopped, startTimeOf } from "../../contract/machine/process-stat.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { sweepWorkFolders, workFoldersOf } from "../../jobs/shared/work-folder.ts";
import { Child } from "../../processes/child.ts";
import { folderBytes, namelessBytes } from "../../processes/usage-limit.ts";
import type { Execution, ExecutionEnd, ExecutionListener, JobOrder, StopReason } from "../executor.ts";
import type { FromJob, JobEnd, JobSetup, ToJob } from "./messages.ts";

interface ChildOptions extends JobSetup {
  readonly env: Readonly<Record<string, string>>;
  /** Called with each line that the process prints, and the operation that it is running. */
  readonly log: (line: string, operationId: string | undefined) => void;
}

/** An order that a process runs. */
interface Run {
  readonly order: JobOrder;
  readonly listener: ExecutionListener;
  readonly ended: PromiseWithResolvers<ExecutionEnd>;
  /** The first reason for which it was stopped. */
  stopped?: StopReason;
  end?: JobEnd;
}

const HERE = import.meta.url;
const MODULE = fileURLToPath(new URL(`./job-process${extname(HERE)}`, HERE));

/** The service's side of a job process, which runs one order after the other. */
export class JobChild {
  /** Undefined if the system could not start one. */
  readonly pid: number | undefined;
  /** Settles once nothing of it runs any more and its work folder is removed; never rejects. */
  readonly ended: Promise<{ readonly reason: string; readonly waited: boolean }>;
  readonly #process: Child<ToJob, FromJob>;
  /** TMPDIR of the process. */
  readonly #temporary: string;
  #run: Run | undefined;

  constructor({ env, log, ...setup }: ChildOptions) {
    this.#temporary = temporaryOf(env);
    this.#process = new Child({
      module: MODULE,
      env,
      runs: "jobs",
      onMessage: (message) => this.#receive(message),
      onLine: (line) => log(withoutSignature(line), this.#run?.order.id),
    });
    this.pid = this.#process.pid;
    this.ended = this.#watchEnd();
    this.#process.send({ op: "setup", ...setup });
  }

  /** Starts an order; it must not be running one. @throws MucastError unavailable if the system does not show the process. */
  start(order: JobOrder, listener: ExecutionListener): Execution {
    const handle = this.#handle();
    const run: Run = { order, listener, ended: Promise.withResolvers() };
    this.#run = run;
    this.#process.send({ op: "order", order });
    return {
      handle,
      ended: run.ended.promise,
      setWorkers: (workers) => {
        if (this.#run === run) this.#process.send({ op: "workers", workers });
      },
      stop: (reason) => {
        run.stopped ??= reason;
        if (this.#run === run) this.stop();
      },
    };
  }

  /** Stops it. An order that it runs is lost, unless it was stopped for another reason before. */
  stop(): void {
    if (this.#run) this.#run.stopped ??= "draining";
    this.#process.stop();
  }

  /** Whether it can take an order. The kernel knows of its death before this process does. */
  get waits(): boolean {
    if (this.isEnding || this.#run !== undefined) return false;
    try {
      return isRunning(this.pid!) && !isStopped(this.pid!);
    } catch {
      return false;
    }
  }

  get isEnding(): boolean {
    return this.#process.isEnding;
  }

  /** What it runs, another object for each order; undefined while it waits for one. */
  get job(): object | undefined {
    return this.#run;
  }

  /** Bytes of memory. @param enough bytes below which a rough figure will do. */
  held(enough: number): number {
    return this.#process.held(enough);
  }

  /** Bytes of the files in its work folders, including open files without a name. */
  async diskBytes(): Promise<number> {
    let bytes = 0;
    for (const folder of workFoldersOf(this.pid ?? 0, this.#temporary)) {
      bytes += (await folderBytes(folder)) + (await namelessBytes(this.pid!, folder));
    }
    return bytes;
  }

  /** Kills it. Its job fails, unless it has already reported its end. */
  fail(error: MucastError): void {
    if (this.#run) this.#run.end ??= { kind: "failed", problem: problemOf(error) };
    this.#process.kill();
  }

  /** Pid and start time, which identify the process permanently. */
  #handle(): string {
    try {
      return `${this.pid}-${startTimeOf(this.pid!) ?? 0}`;
    } catch (cause) {
      this.#process.kill();
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
        if (message.isLast) this.#process.stop();
        else this.#finish();
        break;
      default:
        message satisfies never;
    }
  }

  async #watchEnd() {
    const { how, reason } = await this.#process.ended;
    if (how?.signal) await sweepWorkFolders(this.#temporary);
    const waited = this.#run === undefined;
    this.#finish(reason);
    return { reason, waited };
  }

  /** @param reason how the process ended, if it did. */
  #finish(reason?: string): void {
    const run = this.#run;
    this.#run = undefined;
    run?.ended.resolve(endOf(run, reason));
  }
}

/** The folder for temporary files of a process with this environment, as `os.tmpdir` finds it. */
export function temporaryOf({ TMPDIR }: Readonly<Record<string, string>>): string {
  return TMPDIR || "/tmp";
}

const STOPPED = {
  canceled: "the job was stopped on request",
  timed_out: "the job was stopped at its time limit",
};

function endOf({ end, stopped }: Run, reason: string | undefined): ExecutionEnd {
  if (end?.kind === "succeeded") return end;
  if (stopped === "draining") return { kind: "lost", reason: "the service released it" };
  if (end !== undefined) return end;
  if (stopped === undefined) return { kind: "lost", reason: `the job's process is gone: ${reason}` };
  return { kind: "failed", problem: problemOf(new MucastError(stopped, STOPPED[stopped])) };
}
