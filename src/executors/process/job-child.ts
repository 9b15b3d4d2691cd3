import { type ChildProcess, spawn } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { withoutSignature } from "../../blob/policy.ts";
import { onLines } from "../../engine/lines.ts";
import type { ExecutionListener, JobOrder, StopReason } from "../executor.ts";
import { type BlobPlaces, type FromJob, type JobEnd, TELLING, type ToJob, WARM_FLAG } from "./messages.ts";
import { endSession, killGroup } from "./process-group.ts";

export interface ChildOptions extends BlobPlaces {
  readonly env: Readonly<Record<string, string>>;
  /** Whether it starts an engine before it has an order. */
  readonly warm: boolean;
  /** Gets what it prints, line by line, with the operation it is at. */
  readonly log: (line: string, operationId: string | undefined) => void;
}

/** How a job process ended. */
export interface ChildEnd {
  /** What it said of its job; undefined where it said nothing. */
  readonly told: JobEnd | undefined;
  /** Why no process could be made, or how it ended. */
  readonly reason: string;
}

const HERE = import.meta.url;
const ENTRY = fileURLToPath(new URL(`./job-process${extname(HERE)}`, HERE));
const LONGEST_LINE = 64 * 2 ** 10;
const GRACE_MILLISECONDS = 5_000;

/** A job process as the service sees it. */
export class JobChild {
  /** Undefined where the system made none. */
  readonly pid: number | undefined;
  /** Settles once nothing of it runs any more; never rejects. */
  readonly ended: Promise<ChildEnd>;
  /** Its modules are loaded, and its engine, where it has one; or it has ended. */
  readonly ready: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #readied = Promise.withResolvers<void>();
  readonly #accepted = Promise.withResolvers<boolean>();
  #order: JobOrder | undefined;
  #listener: ExecutionListener | undefined;
  #told: JobEnd | undefined;
  #gone = false;

  constructor({ env, warm, log, blobUrl, policy }: ChildOptions) {
    this.#child = spawn(process.execPath, [ENTRY, ...(warm ? [WARM_FLAG] : [])], {
      env,
      // A group of its own, and a session: both can be ended whole.
      detached: true,
      stdio: ["pipe", "pipe", "pipe", "pipe"],
    });
    this.pid = this.#child.pid;
    this.ended = this.#watchEnd();
    this.ready = Promise.race([this.#readied.promise, this.ended]);
    // Writing to a process that has just died is told by its end.
    this.#child.stdin!.on("error", () => undefined);
    const print = (line: string) => log(withoutSignature(line), this.#order?.id);
    onLines(this.#child.stdout!, print, LONGEST_LINE);
    onLines(this.#child.stderr!, print, LONGEST_LINE);
    onLines(this.#child.stdio[TELLING] as NodeJS.ReadableStream, (line) => this.#hear(JSON.parse(line)));
    this.#tell({ op: "places", blobUrl, policy });
  }

  /** Hands it its one order. @returns false where it ended before it had taken it. */
  give(order: JobOrder, listener: ExecutionListener): Promise<boolean> {
    this.#order = order;
    this.#listener = listener;
    this.#tell({ op: "order", order });
    return Promise.race([this.#accepted.promise, this.ended.then(() => false)]);
  }

  /** Asks it to end in order, and kills it where it does not in a few seconds. */
  stop(reason: StopReason): void {
    if (this.#gone) return;
    this.#tell({ op: "stop", reason });
    const impatience = setTimeout(() => this.kill(), GRACE_MILLISECONDS);
    void this.ended.then(() => clearTimeout(impatience));
  }

  /** Ends one that has no order. */
  dismiss(): void {
    this.stop("draining");
  }

  kill(): void {
    if (!this.#gone && this.pid !== undefined) killGroup(this.pid);
  }

  #hear(message: FromJob): void {
    switch (message.event) {
      case "ready":
        this.#readied.resolve();
        break;
      case "accepted":
        this.#accepted.resolve(true);
        break;
      case "job":
        this.#listener?.onEvent(message.job);
        break;
      case "timings":
        this.#listener?.onTimings(message.timings);
        break;
      case "end":
        this.#told = message.end;
    }
  }

  #tell(message: ToJob): void {
    if (this.#child.stdin!.writable) this.#child.stdin!.write(`${JSON.stringify(message)}\n`);
  }

  async #watchEnd(): Promise<ChildEnd> {
    const reason = await new Promise<string>((resolve) => {
      this.#child.once("error", (error) => resolve(`no process could be started: ${error.message}`));
      this.#child.once("exit", () => {
        this.#gone = true;
      });
      this.#child.once("close", (code, signal) =>
        resolve(signal ? `it was ended by ${signal}` : `exit code ${code}`),
      );
    });
    if (this.pid !== undefined) await endSession(this.pid);
    return { told: this.#told, reason };
  }
}
