import { credentialsFor } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { childEnvironment } from "../../processes/child-environment.ts";
import { aboutToEnd } from "../abort-error.ts";
import type { Storage } from "../blobs/open-storage.ts";
import type { ServiceSettings } from "../settings/load-settings.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { RequestOrder } from "./messages.ts";
import { type ProcessLimits, runProcess } from "./run-process.ts";

const MAX_ANSWER = 64 * 2 ** 20;
const RETRY_SECONDS = 5;

interface RequestProcessesParts {
  readonly atOnce: number;
  readonly limits: ProcessLimits;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "requestProcessEnded">;
}

interface OpenParts extends Omit<RequestProcessesParts, "atOnce" | "limits"> {
  readonly settings: ServiceSettings;
  readonly env: NodeJS.ProcessEnv;
  readonly storage: Pick<Storage, "access">;
}

/** The processes of requests, at most a few at once. */
export class RequestProcesses {
  readonly #parts: RequestProcessesParts;
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(parts: RequestProcessesParts) {
    this.#parts = parts;
  }

  /** Within the limits of the settings; none is running yet. */
  static open({ settings, env, storage, log, telemetry }: OpenParts): RequestProcesses {
    const limits = {
      env: childEnvironment(env, credentialsFor(storage.access.policy)),
      memoryBytes: settings.request_memory_bytes,
      seconds: settings.request_seconds,
      answerBytes: MAX_ANSWER,
    };
    return new RequestProcesses({ atOnce: settings.request_processes, limits, log, telemetry });
  }

  get running(): number {
    return this.#running.size;
  }

  /** @returns the answer of the process. @throws MucastError of `runProcess`; unavailable if too many processes run. */
  async run(order: RequestOrder, signal: AbortSignal): Promise<Buffer> {
    const { atOnce, limits, telemetry, log } = this.#parts;
    if (this.#running.size >= atOnce) {
      const message = `${this.#running.size} other requests draw a report or prepare blobs; try again later`;
      throw new MucastError("unavailable", message, { retryAfter: RETRY_SECONDS });
    }
    const startedAt = performance.now();
    const working = runProcess(order, limits, AbortSignal.any([signal, this.#closing.signal]));
    this.#running.add(working);
    const outcome = await working.then(
      () => "done" as const,
      (error: unknown) => (error instanceof MucastError ? error.code : "internal"),
    );
    this.#running.delete(working);
    telemetry.requestProcessEnded(order.kind, outcome);
    const ms = Math.round(performance.now() - startedAt);
    log.info({ kind: order.kind, outcome, ms }, "a process of a request ended");
    return working;
  }

  /** Kills the running processes, and waits until they have ended. */
  async close(): Promise<void> {
    this.#closing.abort(aboutToEnd());
    await Promise.allSettled(this.#running);
  }
}
