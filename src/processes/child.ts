import { type ChildProcess, fork, type Serializable } from "node:child_process";
import { once } from "node:events";
import { CLUSTER_VARIABLES } from "../engine/pool/cluster-secrets.ts";
import { memoryOf } from "../engine/process-memory.ts";
import { readLines } from "../engine/process-output.ts";
import { killGroup, killSession, processesOfSession } from "./process-group.ts";

/** A program of this package that opens a parent channel. */
interface ChildProgram<FromChild> {
  readonly module: string;
  readonly env: Readonly<Record<string, string>>;
  readonly nodeArguments?: readonly string[];
  readonly onMessage: (message: FromChild) => void;
  readonly onLine: (line: string) => void;
}

interface ChildEnd {
  readonly how: { readonly exitCode: number | null; readonly signal: NodeJS.Signals | null } | undefined;
  readonly reason: string;
}

/** In characters; a longer line comes in pieces. */
const MAX_LINE_LENGTH = 64 * 2 ** 10;
const GRACE_MILLISECONDS = 5_000;

/**
 * A child process, seen from its parent. It leads its own group and session, so that it can be killed as a whole, and no signal of a
 * terminal reaches it. Messages go through Node's channel, which nothing that it prints can reach. If the parent dies, so does the child.
 */
export class Child<ToChild extends object, FromChild> {
  readonly pid: number | undefined;
  /** Settles once nothing of it runs any more, and every message and line of it was received; never rejects. */
  readonly ended: Promise<ChildEnd>;
  /** Undefined if the system refused to start it at once. */
  readonly #process: ChildProcess | undefined;
  #isEnding = false;

  constructor({ module, env, nodeArguments = [], onMessage, onLine }: ChildProgram<FromChild>) {
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
    const { stdin, stdout, stderr } = this.#process;
    // Carries nothing: its end tells a thread of the child that this process has died.
    stdin!.on("error", () => undefined);
    for (const stream of [stdout, stderr]) readLines(stream!, onLine, MAX_LINE_LENGTH);
    this.#process.on("message", (message) => onMessage(message as FromChild));
  }

  send(message: ToChild): void {
    if (this.#process?.connected) this.#process.send(message as Serializable, () => undefined);
  }

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

const PASSED_ON =
  /^(PATH|HOME|USER|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|LD_PRELOAD|DYLD_\w+|XDG_CACHE_HOME|PYENV_\w+|MUCAST_PYTHON|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|SSL_CERT_FILE|SSL_CERT_DIR)$/;

/** What DefaultAzureCredential and the storage clients, the AWS SDK and our client of S3, and Ray read. */
const CREDENTIALS = {
  azure: /^(AZURE_\w+|IDENTITY_(ENDPOINT|HEADER|SERVER_THUMBPRINT)|IMDS_ENDPOINT|MSI_(ENDPOINT|SECRET))$/,
  s3: /^(AWS_\w+|MUCAST_S3_PATH_STYLE)$/,
  cluster: CLUSTER_VARIABLES,
};

/**
 * The variables of the service's environment that a child process gets: those that find programs, folders and certificates, and the
 * credentials of Azure, of S3 and of a cluster, if it needs them. It gets neither the database's URL nor any key of the service.
 */
export function childEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  needs: Readonly<Partial<Record<keyof typeof CREDENTIALS, boolean>>>,
): Record<string, string> {
  const kinds = ["azure", "s3", "cluster"] as const;
  const passed = [PASSED_ON, ...kinds.filter((kind) => needs[kind]).map((kind) => CREDENTIALS[kind])];
  const isPassed = ([name, value]: [string, string | undefined]) =>
    value !== undefined && passed.some((names) => names.test(name));
  return Object.fromEntries(Object.entries(env).filter(isPassed)) as Record<string, string>;
}

export function temporaryOf({ TMPDIR }: Readonly<Record<string, string>>): string {
  return TMPDIR || "/tmp";
}
