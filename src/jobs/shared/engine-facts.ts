import type { Machine, Threads } from "../../contract/output/output-blob.ts";
import { lockSha256 } from "../../engine/environment/environment.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import type { EngineNeed } from "./job.ts";

/** What the engine of a job reports about its machine, and the lock of its environment. */
export interface EngineFacts {
  /** Versions of Python and of each library, by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** Threads of one fit, by library. */
  readonly threads: Threads | null;
  /** Digest of the lock of its environment; null with an interpreter of the operator. */
  readonly lockSha256: string | null;
  /** The processor level to which the libraries' kernels are pinned. */
  readonly kernelLevel: string | null;
  /** What the libraries run on. */
  readonly machine: Machine | null;
}

/** For a job that needs no engine. */
export const NO_ENGINE: EngineFacts = {
  versions: {},
  threads: null,
  lockSha256: null,
  kernelLevel: null,
  machine: null,
};

/** The facts of a job's engine, once its libraries are imported. @throws MucastError engine_unavailable. */
export async function engineFacts(
  pool: Pick<EnginePool, "greeting">,
  environment: EngineNeed["environment"],
): Promise<EngineFacts> {
  const { versions, threads, kernel_level: kernelLevel, machine } = await pool.greeting;
  return { versions, threads, kernelLevel, machine, lockSha256: lockSha256(environment) };
}
