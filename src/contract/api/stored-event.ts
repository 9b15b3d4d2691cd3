import { z } from "zod";
import { epochsSchema, progressSchema } from "../output/job-events.ts";
import { submittedOperationSchema } from "../output/result-record.ts";
import { failureSchema } from "../problems/problem.ts";
import { warningSchema } from "../problems/warnings.ts";
import { mayGrow, named, positive, text } from "../schema/open-schema.ts";
import { operationSchema } from "./operation-view.ts";

const numbered = {
  /** Counts from 1 within its operation. Gaps are epochs that the service no longer keeps; retention removes the oldest. */
  seq: positive,
  operation_id: text,
  time: z.iso.datetime(),
};

/**
 * An event of an operation, in the order of `seq`. The last event carries the operation in its final state. The service
 * stores `progress` and `epochs` at most once a second.
 */
export const storedEventSchema = mayGrow(
  z
    .discriminatedUnion("type", [
      z.strictObject({
        ...numbered,
        type: z.literal("queued"),
        data: z.strictObject({ operation: submittedOperationSchema }),
      }),
      z.strictObject({
        ...numbered,
        type: z.literal("started"),
        data: z.strictObject({ attempt: positive }),
      }),
      z.strictObject({ ...numbered, type: z.literal("progress"), data: progressSchema }),
      z.strictObject({ ...numbered, type: z.literal("warning"), data: warningSchema }),
      z.strictObject({ ...numbered, type: z.literal("failure"), data: failureSchema }),
      z.strictObject({ ...numbered, type: z.literal("epochs"), data: epochsSchema }),
      z.strictObject({ ...numbered, type: z.literal("cancel_requested"), data: z.strictObject({}) }),
      z.strictObject({ ...numbered, type: z.literal("succeeded"), data: operationSchema }),
      z.strictObject({ ...numbered, type: z.literal("failed"), data: operationSchema }),
      z.strictObject({ ...numbered, type: z.literal("canceled"), data: operationSchema }),
    ])
    .meta({ id: "Event", title: "Event of an operation", description: "At most 256 KiB of JSON." }),
);

// Each type has a name in the published schemas, such as EventQueued.
const kinds: readonly z.ZodType[] = storedEventSchema.options;
for (const kind of kinds) {
  const { type } = (kind as z.ZodObject<{ type: z.ZodLiteral<string> }>).shape;
  const name = type.value.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  kind.register(z.globalRegistry, { id: `Event${name}` });
}

export type StoredEvent = z.infer<typeof storedEventSchema>;
export type StoredEventType = StoredEvent["type"];

/**
 * Sent in place of events that retention has removed: the operation in its present state. The kept events after `seq` follow, up to the
 * final one.
 */
export const snapshotSchema = named("Snapshot", {
  ...numbered,
  type: z.literal("snapshot"),
  data: operationSchema,
});

export type Snapshot = z.infer<typeof snapshotSchema>;

/** Every type of event in the order of the schema, and whether it ends its operation. */
const ENDS_OPERATION: Readonly<Record<StoredEventType, boolean>> = {
  queued: false,
  started: false,
  progress: false,
  warning: false,
  failure: false,
  epochs: false,
  cancel_requested: false,
  succeeded: true,
  failed: true,
  canceled: true,
};

export const EVENT_TYPES = Object.keys(ENDS_OPERATION) as [StoredEventType, ...StoredEventType[]];

export function isFinal(type: StoredEventType): boolean {
  return ENDS_OPERATION[type];
}
