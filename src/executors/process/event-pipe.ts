import { Socket } from "node:net";
import { z } from "zod";
import { withoutSignature } from "../../blob/policy.ts";
import { eventBatchSchema } from "../../contract/output/job-events.ts";
import { statusBlobSchema, timingSchema } from "../../contract/output/status-blob.ts";
import { openSchema } from "../../contract/schema/open-schema.ts";
import type { FromJob } from "./messages.ts";

/**
 * The job's end of the pipe to its service: writes messages as JSON lines, without the signatures of URLs. If the service is gone, the
 * lines are lost; the job notices that by the end of stdin.
 */
export class EventPipe {
  readonly #socket: Socket;

  /** @param descriptor of the pipe, which the job process has inherited. */
  constructor(descriptor: number) {
    this.#socket = new Socket({ fd: descriptor, readable: false, writable: true });
    this.#socket.on("error", () => undefined);
  }

  send(message: FromJob): void {
    this.#socket.write(`${withoutSignature(JSON.stringify(message))}\n`);
  }

  /** Closes the pipe; settles once the system has accepted every message. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.destroyed) resolve();
      else {
        this.#socket.once("close", resolve);
        this.#socket.end(() => resolve());
      }
    });
  }
}

/**
 * The service's end of the pipe: parses a line from a job process. A library that prints to the same descriptor may add text before or
 * inside the line.
 * @returns undefined for a line that is no message or lacks a member of its event.
 */
export function readMessage(line: string): FromJob | undefined {
  try {
    const message: unknown = JSON.parse(line);
    return MESSAGE.safeParse(message).success ? (message as FromJob) : undefined;
  } catch {
    return undefined;
  }
}

/** The members of each message besides `event`. */
const MESSAGE_MEMBERS: { readonly [E in FromJob["event"]]: z.ZodRawShape } = {
  ready: {},
  accepted: {},
  events: { batch: openSchema(eventBatchSchema) },
  log: { line: z.string() },
  timings: { timings: z.array(openSchema(timingSchema)) },
  end: { end: openSchema(statusBlobSchema.shape.end.unwrap()) },
};

const MESSAGE = z.discriminatedUnion(
  "event",
  Object.entries(MESSAGE_MEMBERS).map(([event, shape]) =>
    z.object({ event: z.literal(event), ...shape }),
  ) as unknown as [z.ZodObject, ...z.ZodObject[]],
);
