import { z } from "zod";
import type { EngineMessage } from "./protocol.ts";

/** Names and texts of nodes; a gateway cuts longer ones. */
const LONGEST_TEXT = 2_000;
/** Nodes that one message lists. */
const MOST_NODES = 10_000;

const count = z.int().min(0);
const worker = z.int();
const id = z.int();
const text = z.string().transform((value) => value.slice(0, LONGEST_TEXT));
const seconds = z.number().min(0);

const nodeSchema = z.object({
  name: text,
  cpus: z.number().min(0),
  gpus: z.number().min(0),
  memory_bytes: z.number().min(0),
});

/** The cluster that a gateway has connected to. */
const clusterSchema = z.object({
  /** `ray://host:port`. */
  address: text,
  /** Version of Ray. */
  ray: text,
  nodes: z.array(nodeSchema).max(MOST_NODES),
});

export type ClusterFacts = z.infer<typeof clusterSchema>;

const blasSchema = z.object({
  name: z.string(),
  version: z.string().nullable(),
  kernel: z.string().nullable(),
});

/** What the nodes have told of themselves, all the same. */
const greetingSchema = z.object({
  versions: z.object({ python: z.string() }).catchall(z.string()),
  threads: z.record(z.string(), z.int().positive().nullable()),
  kernel_level: z.string().nullable(),
  machine: z.object({
    processor: z.string(),
    numpy_dispatch: z.array(z.string()),
    torch_capability: z.string().nullable(),
    blas: z.record(z.string(), blasSchema),
  }),
  start: z.literal("cluster"),
  import_seconds: seconds,
  cluster: clusterSchema,
  /** Tasks of one thread at a time. */
  slots: count,
});

const lostNode = z.object({ name: text, reason: text });

/** Every message of a gateway, by its event. */
const MESSAGES = {
  ready: greetingSchema,
  failed: z.object({ code: z.string(), message: text, data: z.record(z.string(), z.unknown()).default({}) }),
  slots: z.object({
    slots: count,
    added: z.array(text).max(MOST_NODES).default([]),
    lost: z.array(lostNode).max(MOST_NODES).default([]),
  }),
  delayed: z.object({ id, message: text }),
  worker_started: z.object({ worker }),
  worker_exited: z.object({ worker, node: text.nullable(), reason: text }),
  progress: z.looseObject({ id }),
  result: z.object({ id, result: z.unknown() }),
  error: z.object({
    id,
    code: z.string(),
    message: text,
    data: z.record(z.string(), z.unknown()).default({}),
  }),
} satisfies Record<EngineMessage["event"], z.ZodType>;

/**
 * A message of a gateway, checked: what comes from the nodes of a cluster passes through it.
 * @returns `failed` in place of one that is not of the protocol, since a task may wait for it; undefined for an event that is
 *   not known.
 */
export function gatewayMessage(message: object): EngineMessage | undefined {
  const event = "event" in message ? String(message.event) : "";
  if (!Object.hasOwn(MESSAGES, event)) return undefined;
  const parsed = MESSAGES[event as keyof typeof MESSAGES].safeParse(message);
  if (parsed.success) return { event, ...parsed.data } as EngineMessage;
  const where = parsed.error.issues[0]?.path.join(".") ?? "";
  const words = `its message ${JSON.stringify(event)} is not of the protocol${where === "" ? "" : ` (${where})`}`;
  return { event: "failed", code: "engine_crashed", message: words, data: {} };
}
