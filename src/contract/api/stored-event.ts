import { z } from "zod";
import { epochsSchema, progressSchema } from "../output/job-events.ts";
import { submittedOperationSchema } from "../output/result-record.ts";
import { failureSchema } from "../problems/problem.ts";
import { warningSchema } from "../problems/warnings.ts";
import * as s from "../schema/open-schema.ts";
import { operationSchema } from "./operation-view.ts";

const numbered = {
  /** Counts from 1 within its operation. Gaps are epochs that the service no longer keeps; retention removes the oldest. */
  seq: s.positive(),
  operation_id: s.text(),
  time: z.iso.datetime(),
};

/** Each type has a name in the published schemas, such as EventQueued. */
function event<T extends string, D extends z.ZodType>(type: T, data: D) {
  const name = type.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return s.named(`Event${name}`, { ...numbered, type: z.literal(type), data });
}

/**
 * An event of an operation, in the order of `seq`. The last one carries the operation in its final state. `progress` and `epochs` are stored
 * at most once a second.
 */
export const storedEventSchema = s.mayGrow(
  z
    .discriminatedUnion("type", [
      event("queued", z.strictObject({ operation: submittedOperationSchema })),
      event("started", z.strictObject({ attempt: s.positive() })),
      event("progress", progressSchema),
      event("warning", warningSchema),
      event("failure", failureSchema),
      event("epochs", epochsSchema),
      event("cancel_requested", z.strictObject({})),
      event("succeeded", operationSchema),
      event("failed", operationSchema),
      event("canceled", operationSchema),
    ])
    .meta({ id: "Event", title: "Event of an operation", description: "At most 256 KiB of JSON." }),
);

export type StoredEvent = z.infer<typeof storedEventSchema>;
export type StoredEventType = StoredEvent["type"];

/**
 * Sent in place of events that retention has removed: the operation in its present state. The kept events after `seq` follow, up to the
 * final one.
 */
export const snapshotSchema = s.named("Snapshot", {
  ...numbered,
  type: z.literal("snapshot"),
  data: operationSchema,
});

export type Snapshot = z.infer<typeof snapshotSchema>;

export const EVENT_TYPES = storedEventSchema.options.map(({ shape }) => shape.type.value) as [
  StoredEventType,
  ...StoredEventType[],
];

export function isFinal(type: StoredEventType): boolean {
  return ["succeeded", "failed", "canceled"].includes(type);
}
