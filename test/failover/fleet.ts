import { setImmediate } from "node:timers/promises";
import { type QueueView, queueSchema } from "../../src/contract/api/queue-view.ts";
import { confined, unconfined } from "../deployment/confined.testing.ts";
import { Api } from "../service/api.testing.ts";
import { eventuallyTrue } from "../service/eventually.testing.ts";
import { type Serving, startServe, untilNoneRuns } from "../service/service.testing.ts";

/** An attempt, from the log of the service that started it. */
export interface LoggedAttempt {
  readonly operation_id: string;
  readonly attempt: number;
}

interface Member {
  readonly name: string;
  readonly serving: Serving;
  fate: string;
  isGone: boolean;
}

/** Services that share a database and a storage, each of which runs one job at a time, as pods of infra/kubernetes. */
export class Fleet {
  readonly header = ["service", "attempts begun", "its /metrics", "ended", "what became of it"];
  readonly #env: Readonly<Record<string, string>>;
  readonly #members: Member[] = [];
  readonly #jobs: number;

  /** @param jobs the number of jobs to be submitted. */
  constructor(env: Readonly<Record<string, string>>, jobs: number) {
    this.#jobs = jobs;
    this.#env = { ...env, MUCAST_DRAIN_SECONDS: "60", MUCAST_PUBLIC_URL: "http://127.0.0.1:9" };
  }

  get members(): readonly Readonly<Member>[] {
    return this.#members;
  }

  /** The services that answer. */
  get urls(): readonly string[] {
    return this.#alive().map(({ serving }) => serving.url);
  }

  async add(count: number): Promise<readonly Serving[]> {
    const names = Array.from({ length: count }, (_, index) => `pod-${this.#members.length + index + 1}`);
    const added = await Promise.all(
      names.map((name) => startServe({ env: this.#env, through: unconfined ? [] : confined(name) })),
    );
    await Promise.all(added.map(untilReady));
    const ended = this.#members.length === 0 ? undefined : await this.#ended();
    const fate = ended === undefined ? "there all the time" : `added when ${ended} had ended`;
    for (const [index, serving] of added.entries())
      this.#members.push({ name: names[index]!, serving, fate, isGone: false });
    return added;
  }

  /** Waits until this many jobs have ended, once all are submitted. */
  async untilEnded(count: number): Promise<void> {
    await eventuallyTrue(`${count} jobs have ended`, async () => (await this.#ended()) >= count);
  }

  /** Kills a service as soon as it has started another job. */
  async kill(serving: Serving): Promise<void> {
    const before = begun(serving).length;
    while (begun(serving).length === before) await setImmediate();
    const seen = serving.processes();
    const member = this.#memberOf(serving);
    member.isGone = true;
    await serving.kill9();
    member.fate = `killed when ${await this.#ended()} had ended`;
    await untilNoneRuns(seen);
  }

  /** Asks a service to end, and waits for its end. */
  async drain(serving: Serving): Promise<void> {
    const member = this.#memberOf(serving);
    const ended = await this.#ended();
    member.isGone = true;
    const began = performance.now();
    const { code } = await serving.terminate();
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    member.fate = `drained when ${ended} had ended, in ${seconds} s, exit code ${code}`;
  }

  /** What the log of each service says, and what its /metrics say if it still answers. */
  rows(): Promise<string[][]> {
    return Promise.all(
      this.#members.map(async ({ name, serving, fate, isGone }) => [
        name,
        String(begun(serving).length),
        isGone ? "-" : String(await attemptsIn(serving)),
        String(endedIn(serving).length),
        fate,
      ]),
    );
  }

  #alive(): Member[] {
    return this.#members.filter(({ isGone }) => !isGone);
  }

  #memberOf(serving: Serving): Member {
    return this.#members.find((member) => member.serving === serving)!;
  }

  async #queue(): Promise<QueueView> {
    const { text } = await new Api(this.#alive().at(-1)!.serving.url).ask("GET", "/v1/queue");
    return queueSchema.parse(JSON.parse(text));
  }

  async #ended(): Promise<number> {
    const { own } = await this.#queue();
    return this.#jobs - own.waiting - own.running;
  }
}

async function untilReady({ url }: Serving): Promise<void> {
  await eventuallyTrue(
    "the service is ready",
    async () => (await new Api(url).ask("GET", "/readyz")).status === 200,
  );
}

function loggedAttempts(serving: Serving, message: string): LoggedAttempt[] {
  return serving
    .logs()
    .split("\n")
    .filter((line) => line.startsWith("{") && line.endsWith("}") && line.includes(`"msg":"${message}"`))
    .map((line) => JSON.parse(line));
}

/** The attempts that a service has started. */
export function begun(serving: Serving): LoggedAttempt[] {
  return loggedAttempts(serving, "an attempt begins");
}

function endedIn(serving: Serving): LoggedAttempt[] {
  return loggedAttempts(serving, "operation ended");
}

/** The attempts that a service has started and not ended. */
export function inProgress(serving: Serving): LoggedAttempt[] {
  const ended = new Set(endedIn(serving).map(({ operation_id }) => operation_id));
  return begun(serving).filter(({ operation_id }) => !ended.has(operation_id));
}

/** The number of attempts that a service has started, from its metrics. */
export async function attemptsIn(serving: Serving): Promise<number> {
  const { text } = await new Api(serving.url).ask("GET", "/metrics");
  const [, count] = /^mucast_attempts_started_total\{operation="run_ml_job"\} (\d+)$/m.exec(text)!;
  return Number(count);
}
