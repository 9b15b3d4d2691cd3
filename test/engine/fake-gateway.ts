/** A fake gateway to a cluster: a process that speaks the protocol as the test wants. */
import { chmodSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Greeting } from "../../src/engine/pool/protocol.ts";

const RELAY = fileURLToPath(new URL("gateway-relay.ts", import.meta.url));

/** One node of two cores. */
export const GREETING: Greeting = {
  versions: { python: "3.12.0", numpy: "2.4.0" },
  threads: { openmp: 1 },
  kernel_level: null,
  machine: { processor: "x86_64", numpy_dispatch: [], torch_capability: null, blas: {} },
  start: "cluster",
  import_seconds: 1,
  cluster: {
    address: "ray://127.0.0.1:10001",
    ray: "2.60.0",
    nodes: [{ name: "10.0.0.1", cpus: 2, gpus: 0, memory_bytes: 2 ** 30 }],
  },
  slots: 2,
};

/** A line from the pool: the request, and the task if there is one. */
export interface Request {
  readonly op: "start" | "task" | "kill";
  readonly worker: number;
  readonly id: number;
  readonly cpus?: number;
  readonly gpus?: number;
  readonly node?: string;
  readonly memory?: number;
  readonly task?: { readonly predictions: { readonly ref: string } };
}

/** One process of the fake, from its start to its end. */
export class GatewayProcess {
  readonly #socket: Socket;
  readonly #lines: AsyncIterator<string>;
  readonly #hello: { pid: number; args: string[]; env: Record<string, string> };

  private constructor(socket: Socket, lines: AsyncIterator<string>, hello: string) {
    this.#socket = socket;
    this.#lines = lines;
    this.#hello = JSON.parse(hello);
  }

  static async of(socket: Socket): Promise<GatewayProcess> {
    const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
    return new GatewayProcess(socket, lines, (await lines.next()).value!);
  }

  get pid(): number {
    return this.#hello.pid;
  }

  get args(): readonly string[] {
    return this.#hello.args;
  }

  get env(): Readonly<Record<string, string>> {
    return this.#hello.env;
  }

  /** The next request of the pool; undefined once it has closed the gateway's input. */
  async next(): Promise<Request | undefined> {
    const { value, done } = await this.#lines.next();
    if (done) return undefined;
    const [header, task] = value.split("\t");
    return { ...JSON.parse(header!), ...(task === undefined ? {} : { task: JSON.parse(task) }) };
  }

  /** The next request, which must have this kind. */
  async expect(op: Request["op"]): Promise<Request> {
    const request = await this.next();
    if (request?.op === op) return request;
    throw new Error(`the pool sent ${JSON.stringify(request)} where ${op} was expected`);
  }

  greet(changes: Partial<Greeting> = {}): void {
    this.say({ event: "ready", ...GREETING, ...changes });
  }

  say(...messages: readonly object[]): void {
    this.sayLine(...messages.map((message) => JSON.stringify(message)));
  }

  sayLine(...lines: readonly string[]): void {
    this.#socket.write(lines.map((line) => `${line}\n`).join(""));
  }

  /** A task, and the slot that the pool has started for it. */
  async started(): Promise<Request> {
    const { worker } = await this.expect("start");
    this.say({ event: "worker_started", worker, node: null });
    return this.expect("task");
  }

  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    process.kill(this.pid, signal);
  }
}

/** Can be started as often as the pool wants. */
export class FakeGateway {
  /** What the pool uses as an interpreter. */
  readonly python: string;
  readonly #server: Server;
  readonly #waiting: ((process: Promise<GatewayProcess>) => void)[] = [];
  readonly #arrived: Promise<GatewayProcess>[] = [];

  /** @param folder an existing one, for the socket and the fake interpreter. */
  constructor(folder: string) {
    const socket = join(folder, "gateway.sock");
    this.python = join(folder, "python");
    writeFileSync(this.python, `#!/bin/sh\nexec '${process.execPath}' '${RELAY}' '${socket}' "$@"\n`);
    chmodSync(this.python, 0o755);
    this.#server = createServer((connection) => {
      connection.on("error", () => undefined);
      const process = GatewayProcess.of(connection);
      process.catch(() => undefined); // The pool killed it before it sent anything.
      const waiting = this.#waiting.shift();
      if (waiting) waiting(process);
      else this.#arrived.push(process);
    });
    this.#server.listen(socket);
  }

  /** The next process that the pool starts. */
  async started(): Promise<GatewayProcess> {
    return this.#arrived.shift() ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  close(): Promise<unknown> {
    return new Promise((resolve) => this.#server.close(resolve));
  }
}
