import { z } from "zod";
import type { EngineMessage } from "./protocol.ts";

/** What a greeting says about the libraries and the machine. */
export function factsSchema() {
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

/** Every message of a host, by its event. */
function messageSchemas() {
  const number = z.int();
  // For the function that kills workers, 0 and 1 would mean whole groups of processes, or all of them.
  const pid = z.int().min(2);
  const status = z.int().nullable();
  return {
    ready: factsSchema().extend({ start: z.enum(["fork", "spawn"]) }),
    failed: z.object({ message: z.string() }),
    worker_started: z.object({ worker: number, pid: pid.optional() }),
    worker_exited: z.object({
      worker: number,
      pid,
      signal: status,
      exit_code: status,
      max_rss_bytes: z.number(),
    }),
    progress: z.looseObject({ id: number }),
    result: z.object({ id: number, result: z.unknown() }),
    error: z.object({
      id: number,
      code: z.string(),
      message: z.string(),
      data: z.record(z.string(), z.unknown()),
    }),
  } satisfies Partial<Record<EngineMessage["event"], z.ZodType>>;
}

/** Created with the first message. */
let schemas: ReturnType<typeof messageSchemas> | undefined;

/**
 * Checks a message of a host.
 * @returns a sentence that says what is wrong with one that breaks the protocol; undefined for an unknown event.
 */
export function hostMessage(message: EngineMessage): EngineMessage | string | undefined {
  schemas ??= messageSchemas();
  const { event } = message;
  if (!Object.hasOwn(schemas, event)) return undefined;
  const { error } = schemas[event as keyof typeof schemas].safeParse(message);
  return error === undefined ? message : protocolFault(event, error);
}

/** Maximum length of a path in characters; it may contain names that a cluster node has made. */
const SHOWN = 100;

/** A sentence that says what is wrong with a message of that event. */
export function protocolFault(event: string, { issues }: z.ZodError): string {
  const where = issues[0]?.path.join(".").slice(0, SHOWN) ?? "";
  return `its message ${JSON.stringify(event)} is not of the protocol${where === "" ? "" : ` (${where})`}`;
}
