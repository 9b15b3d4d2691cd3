import { z } from "zod";
import type { EngineMessage } from "./protocol.ts";

/** Maximum length of a name or text in characters; a gateway cuts longer ones. */
const MAX_TEXT_LENGTH = 2_000;
/** Maximum number of nodes in one message. */
const MAX_NODES = 10_000;

const text = () => z.string().transform((value) => value.slice(0, MAX_TEXT_LENGTH));
const count = () => z.int().min(0);

/** What a greeting says about the libraries and the machine. */
function factsSchema() {
  const blas = z.object({ name: z.string(), version: z.string().nullable(), kernel: z.string().nullable() });
  return z.object({
    versions: z.object({ python: z.string() }).catchall(z.string()),
    threads: z.record(z.string(), z.int().positive().nullable()),
    kernel_level: z.string().nullable(),
    machine: z.object({
      processor: z.string(),
      numpy_dispatch: z.array(z.string()),
      torch_capability: z.string().nullable(),
      blas: z.record(z.string(), blas),
    }),
    import_seconds: z.number().min(0),
  });
}

/** The cluster that a gateway has connected to. */
function clusterSchema() {
  const amount = z.number().min(0);
  const node = z.object({ name: text(), cpus: amount, gpus: amount, memory_bytes: amount });
  return z.object({
    /** `ray://host:port`. */
    address: text(),
    /** Version of Ray. */
    ray: text(),
    nodes: z.array(node).max(MAX_NODES),
    /** The head's environment variables by which Ray decides that a node is lost. */
    variables: z.record(text(), text()).default({}),
  });
}

/** The answer of every node to the inspection; all are equal. */
function greetingSchema() {
  return factsSchema().extend({
    start: z.literal("cluster"),
    cluster: clusterSchema(),
    /** Tasks of one thread at a time. */
    slots: count(),
    /** Passed on in the command of the next gateway. */
    fingerprint: z
      .string()
      .regex(/^[\da-f]{64}$/)
      .optional(),
  });
}

/** Every message of a gateway, by its event. */
function messageSchemas() {
  const [id, worker] = [z.int(), z.int()];
  const fault = { code: z.string(), data: z.record(z.string(), z.unknown()).default({}) };
  const lost = z.object({ name: text(), reason: text() });
  return {
    ready: greetingSchema(),
    failed: z.object({ ...fault, message: text() }),
    slots: z.object({
      slots: count(),
      added: z.array(text()).max(MAX_NODES).default([]),
      lost: z.array(lost).max(MAX_NODES).default([]),
    }),
    heartbeat: z.object({}),
    delayed: z.object({ id: id.optional(), message: text() }),
    worker_started: z.object({ worker }),
    worker_exited: z.object({
      worker,
      node: text().nullable(),
      reason: text(),
      attempts: z.int().min(1).default(1),
    }),
    progress: z.looseObject({ id }),
    result: z.object({ id, result: z.unknown() }),
    // Unabridged, like a host's, because it may be stored in the output.
    error: z.object({ ...fault, id, message: z.string() }),
  } satisfies Record<EngineMessage["event"], z.ZodType>;
}

/** Created with the first message of a gateway; a job on this machine needs none. */
let schemas: ReturnType<typeof messageSchemas> | undefined;

/**
 * A message of a gateway, checked: messages of a cluster's nodes pass through it.
 * @returns `failed` in place of one that breaks the protocol, because a task may be waiting for it; undefined for an unknown event.
 */
export function gatewayMessage(message: object): EngineMessage | undefined {
  schemas ??= messageSchemas();
  const event = "event" in message ? String(message.event) : "";
  if (!Object.hasOwn(schemas, event)) return undefined;
  const parsed = schemas[event as keyof typeof schemas].safeParse(message);
  if (parsed.success) return { event, ...parsed.data } as EngineMessage;
  return { event: "failed", code: "engine_crashed", message: protocolFault(event, parsed.error), data: {} };
}

/** Maximum length of a path in characters; it may contain names that a cluster node has made. */
const SHOWN = 100;

/** A sentence that says what is wrong with a message of that event. */
function protocolFault(event: string, { issues }: z.ZodError): string {
  const where = issues[0]?.path.join(".").slice(0, SHOWN) ?? "";
  return `its message ${JSON.stringify(event)} is not of the protocol${where === "" ? "" : ` (${where})`}`;
}
