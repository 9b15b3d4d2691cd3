import { createHash } from "node:crypto";
import { withoutSignature } from "../../blob/policy.ts";
import type { Operation } from "../../contract/config/job-operations.ts";
import { ownSection } from "../../contract/config/parse-config.ts";
import type { RequestedWindow } from "../../contract/market/ticker-series.ts";
import type { Machine, Threads } from "../../contract/output/output-blob.ts";
import { MUCAST_COMMIT, MUCAST_VERSION } from "../../contract/version.ts";
import { lockSha256 } from "../../engine/environment/environment.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import type { EngineNeed, RecordedInputs } from "./job.ts";
import { plain } from "./job-document.ts";
import type { OrderedJson } from "./ordered-json.ts";
import { type Inputs, recordedBounds } from "./read-inputs.ts";

/**
 * The facts that a reader needs to replay a job. They contain nothing that differs between two machines that computed the same: no worker
 * count, host or path of the work folder.
 */
export function provenance(facts: {
  readonly operation: Operation;
  readonly digests: ReturnType<Inputs["digests"]>;
  readonly config: string;
  readonly window?: RequestedWindow | undefined;
  readonly engine: Omit<EngineFacts, "machine">;
  readonly seed: OrderedJson;
  /** The device that the models were fitted on: `cpu` or `cuda:N`; `none` if no model was fitted. */
  readonly device: string;
  readonly recorded?: RecordedInputs | undefined;
}): OrderedJson {
  const { recorded, config, window, seed, device } = facts;
  const { feature, dataExtractor } = facts.digests;
  const { versions, threads, lockSha256, kernelLevel } = facts.engine;
  const section = ownSection(config, facts.operation);
  // A config with the signature of a URL, however its letters are escaped, is not stored: without the signature it cannot run again.
  const texts = [section, JSON.stringify(JSON.parse(section))];
  return {
    feature_url: recorded?.featureUrl ?? feature.name,
    data_extractor_url: recorded?.dataExtractorUrl ?? dataExtractor.name,
    feature_sha256: feature.sha256,
    data_extractor_sha256: dataExtractor.sha256,
    ...(window && { requested_window: recordedBounds(window) }),
    config: texts.some((text) => withoutSignature(text) !== text) ? null : section,
    config_sha256: recorded?.configSha256 ?? createHash("sha256").update(config).digest("hex"),
    versions: { mucast: MUCAST_VERSION, node: process.versions.node, ...versions },
    ...(MUCAST_COMMIT === undefined ? {} : { commit: MUCAST_COMMIT }),
    lock_sha256: lockSha256,
    seed,
    threads_per_fit: 1,
    threads: threads && plain(threads),
    kernel_level: kernelLevel,
    device,
  };
}

interface EngineFacts {
  readonly versions: Readonly<Record<string, string>>;
  readonly threads: Threads | null;
  /** Digest of the lock of its environment; null with an interpreter of the operator. */
  readonly lockSha256: string | null;
  readonly kernelLevel: string | null;
  readonly machine: Machine | null;
}

export const NO_ENGINE: EngineFacts = {
  ...{ versions: {}, threads: null, lockSha256: null, kernelLevel: null, machine: null },
};

/** What the engine reports about its machine, once its libraries are imported. @throws MucastError engine_unavailable. */
export async function engineFacts(
  pool: Pick<EnginePool, "greeting">,
  environment: EngineNeed["environment"],
): Promise<EngineFacts> {
  const { versions, threads, kernel_level: kernelLevel, machine } = await pool.greeting;
  return { versions, threads, kernelLevel, machine, lockSha256: lockSha256(environment) };
}
