import { type ChildProcess, spawn } from "node:child_process";
import type { ClusterEngine } from "../../contract/engine-url.ts";
import { engineEnvironment, type KernelLevel } from "../environment/engine-variables.ts";
import { closeHeldPipes, readLines } from "../process-output.ts";
import { clusterEnvironment, tokenRedactor } from "./cluster-secrets.ts";
import type { EngineMessage, EngineRequest } from "./protocol.ts";

export interface HostEnd {
  /** Why it could not start, how it ended, or why this process killed it. */
  readonly reason: string;
  /** The signal that killed it; null if it exited by itself or never started. */
  readonly signal: NodeJS.Signals | null;
  readonly stderrTail: string;
  /** Whether this process killed it. */
  readonly wasKilled: boolean;
}

export interface HostOptions {
  /** Interpreter of an environment that has the libraries. */
  readonly python: string;
  /** Modules to import: sklearn, xgboost, lightgbm, catboost, torch. Only those that the job's tasks need. */
  readonly libraries: readonly string[];
  /** Folder of the arrays that tasks name. Tasks neither read nor write outside it. */
  readonly workFolder: string;
  /** `spawn` gives every worker its own interpreter, as on macOS; by default the engine decides. */
  readonly start?: "fork" | "spawn";
  /** The level to which the libraries' kernels are pinned; by default each library chooses by the processor. */
  readonly kernelLevel?: KernelLevel | undefined;
  /** The cluster to compute on, in place of this machine; `python` must then have Ray. Excludes `start`. */
  readonly cluster?: ClusterEngine | undefined;
}

/** Receives what a host writes. */
export interface HostListener {
  readonly onMessage: (message: EngineMessage) => void;
  /** Receives the output of the libraries, line by line. */
  readonly log: (line: string) => void;
}

const TAIL_LENGTH = 4_096;
/** Time for a head that a job has computed on to come back. */
const RECONNECT_SECONDS = 300;
/** The beginning of each message of the engine. */
const MESSAGE_BEGIN = '{"event"';
/** In characters. The engine's longest message is the result of a stack of networks: a hundred for each of their epochs. */
const MAX_LINE_LENGTH = { message: 2 ** 27, print: 2 ** 16 };

/**
 * The Python process that imports the libraries and owns the workers, or the gateway to a cluster, whose slots are its workers. Exchanges
 * lines in both directions.
 */
export class HostProcess {
  /** Settles once the process has ended and the listener has received all that it wrote; never rejects. */
  readonly ended: Promise<HostEnd>;
  readonly #child: ChildProcess;
  readonly #cluster: ClusterEngine | undefined;
  #stderrTail = "";
  /** Whether it has claimed its stdout, so that everything that follows belongs to the protocol. */
  #hasGreeted = false;
  /** Why this process killed it. */
  #killedBecause: string | undefined;

  /** @param isLater whether a gateway before this one had connected, so that the cluster is worth waiting for. */
  constructor(options: HostOptions, listener: HostListener, isLater = false) {
    const { python, libraries, workFolder, start, kernelLevel, cluster } = options;
    this.#cluster = cluster;
    const args = ["-s", "-P", "-m", "mucast_engine", cluster ? "cluster" : "host"];
    args.push("--libraries", libraries.join(","), "--folder", workFolder);
    if (start) args.push("--start", start);
    // They contain no secret: a gateway reads the token from its environment.
    if (cluster) args.push("--engine", cluster.url, ...(cluster.insecure ? ["--insecure"] : []));
    if (cluster && isLater) args.push("--seconds", String(RECONNECT_SECONDS));
    const env = { ...engineEnvironment(kernelLevel), ...(cluster ? clusterEnvironment(process.env) : {}) };
    this.#child = spawn(python, args, { cwd: workFolder, env, stdio: "pipe" });
    this.ended = new Promise((resolve) => {
      const end = (reason: string, signal: NodeJS.Signals | null) =>
        resolve({
          reason: this.#killedBecause ?? reason,
          signal,
          wasKilled: this.#killedBecause !== undefined,
          stderrTail: this.#stderrTail.trim(),
        });
      this.#child.once("error", (error) => end(error.message, null));
      this.#child.once("close", (code, signal) =>
        end(signal === null ? `exit code ${code}` : `signal ${signal}`, signal),
      );
    });
    closeHeldPipes(this.#child);
    // A write to a process that has just died fails; `ended` reports that it died.
    this.#child.stdin!.on("error", () => undefined);
    this.#read(listener);
  }

  /** Undefined if the system could not start it. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  send(request: EngineRequest, task?: object): void {
    if (!this.#child.stdin!.writable) return;
    // JSON text contains no raw tab.
    const body = task === undefined ? "" : `\t${JSON.stringify(task)}`;
    this.#child.stdin!.write(`${JSON.stringify(request)}${body}\n`);
  }

  /** Asks the host to end by closing its input. It kills its workers, waits for them and exits. */
  stop(): void {
    this.#child.stdin!.end();
  }

  /** Kills the host itself. On Linux, the kernel then kills its workers. @param why reported as the reason of its end. */
  kill(why?: string): void {
    this.#killedBecause ??= why;
    this.#child.kill("SIGKILL");
  }

  #read({ onMessage, log: write }: HostListener): void {
    const shown = this.#cluster ? tokenRedactor(process.env) : (text: string) => text;
    const log = (line: string) => write(shown(line));
    const take = (line: string) => {
      if (line.length > MAX_LINE_LENGTH.message) {
        this.kill(`it wrote a line of more than ${MAX_LINE_LENGTH.message} characters`);
        return;
      }
      const begin = this.#hasGreeted ? 0 : line.indexOf(MESSAGE_BEGIN);
      if (begin > 0) {
        // Text that an interpreter's wrapper printed without a line feed.
        take(line.slice(0, begin));
        take(line.slice(begin));
        return;
      }
      const message = parseMessage(shown(line));
      if (message !== undefined) {
        this.#hasGreeted ||= message.event === "ready";
        onMessage(message);
        return;
      }
      log(line.slice(0, MAX_LINE_LENGTH.print));
      // It may have been the answer to a task, which would then never end.
      if (this.#hasGreeted) this.kill("it wrote a line that is not a message of the engine");
    };
    readLines(this.#child.stdout!, take, MAX_LINE_LENGTH.message);
    const print = (line: string) => {
      this.#stderrTail = `${this.#stderrTail}${shown(line)}\n`.slice(-TAIL_LENGTH);
      log(line);
    };
    readLines(this.#child.stderr!, print, MAX_LINE_LENGTH.print);
  }
}

/** Undefined for a line that is not a message: an interpreter's wrapper may print before the engine claims stdout. */
function parseMessage(line: string): EngineMessage | undefined {
  try {
    const message = JSON.parse(line) as EngineMessage | null;
    return typeof message?.event === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}

/** Discards messages between two pools. */
const NO_LISTENER: HostListener = { onMessage: () => undefined, log: () => undefined };

/**
 * A host that starts before its job is known, so that its libraries are imported when the job comes. One pool after the other may acquire
 * it.
 */
export class WarmHost {
  /** Settles once the libraries are imported, or the host has ended; never rejects. */
  readonly ready: Promise<unknown>;
  readonly #host: HostProcess;
  #imported = false;
  #ended = false;
  #acquired = false;
  #closed = false;
  #listener = NO_LISTENER;

  /** @param options.libraries modules to import now; a pool that acquires the host may need others. */
  constructor(options: Pick<HostOptions, "python" | "libraries" | "workFolder">) {
    const imported = Promise.withResolvers<void>();
    this.#host = new HostProcess(options, {
      log: (line) => this.#listener.log(line),
      onMessage: (message) => {
        // Its first greeting lists the libraries imported ahead; a pool waits for the answer to its own import.
        if (this.#imported || message.event !== "ready") this.#listener.onMessage(message);
        this.#imported = true;
        imported.resolve();
      },
    });
    this.ready = Promise.race([imported.promise, this.#host.ended]);
    void this.#host.ended.then(() => {
      this.#ended = true;
    });
  }

  /** Whether a pool may acquire it. */
  get waits(): boolean {
    return !this.#ended && !this.#acquired;
  }

  /**
   * Lends the host to a pool. The host imports what is missing of `libraries` and then greets `listener`.
   * @returns undefined if it has ended, or another pool has it.
   */
  acquire(libraries: readonly string[], listener: HostListener): HostProcess | undefined {
    if (!this.waits) return undefined;
    this.#acquired = true;
    this.#listener = listener;
    this.#host.send({ op: "import", libraries });
    return this.#host;
  }

  /** Called by the pool that has it, once all workers have ended. @returns false if that pool has to close it. */
  release(): boolean {
    if (this.#closed) return false;
    this.#listener = NO_LISTENER;
    this.#acquired = false;
    return true;
  }

  /** Stops the host if no pool has it; a pool that has it closes it after its job. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#acquired) return;
    this.#acquired = true;
    // While it imports, it does not read its stdin.
    if (this.#imported) this.#host.stop();
    else this.#host.kill();
    await this.#host.ended;
  }
}
