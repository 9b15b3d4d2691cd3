import { createHash } from "node:crypto";
import { MUCAST_VERSION } from "../contract/version.ts";
import type { OrderedJson } from "./ordered-json.ts";
import type { Inputs } from "./read-inputs.ts";

/**
 * What is needed to replay a job, and nothing that differs between two machines that computed the same: no worker
 * count, host or path of the work folder.
 */
export function provenance(facts: {
  readonly digests: ReturnType<Inputs["digests"]>;
  readonly config: string;
  /** Versions of Python and of each library, by name. */
  readonly engineVersions: Readonly<Record<string, string>>;
  readonly seed: OrderedJson;
  /** What the models were fitted on: `cpu` or `cuda:N`; `none` where nothing was. */
  readonly device: string;
}): OrderedJson {
  const { feature, dataExtractor } = facts.digests;
  return {
    feature_url: feature.name,
    data_extractor_url: dataExtractor.name,
    feature_sha256: feature.sha256,
    data_extractor_sha256: dataExtractor.sha256,
    config_sha256: createHash("sha256").update(facts.config).digest("hex"),
    versions: { mucast: MUCAST_VERSION, node: process.versions.node, ...facts.engineVersions },
    seed: facts.seed,
    threads_per_fit: 1,
    device: facts.device,
  };
}
