import { outputName } from "../blob/names.ts";
import { modelNameOf, type OutputSummary } from "../outputs/output-summary.ts";
import { cutText, MLFLOW_LIMITS } from "./mlflow-names.ts";
import type { NamedText } from "./run-params.ts";

/** The tag by which the run of an output is found: the SHA-256 of the output's bytes. */
export const OUTPUT_TAG = "mucast.output_sha256";

/** The name of an output as its job wrote it, whatever its file is called now; undefined if its id is not a job's. */
export function writtenName({ operation, id }: Pick<OutputSummary, "operation" | "id">): string | undefined {
  try {
    return outputName(operation, id);
  } catch {
    return undefined;
  }
}

/** Facts about the run, for searches: what it ran, from which blobs, and how its forecasts were judged. */
export function runTags(output: OutputSummary, sha256: string): NamedText[] {
  const { provenance, verdict, window } = output;
  const tags: Record<string, string | undefined> = {
    [OUTPUT_TAG]: sha256,
    "mlflow.source.name": "mucast",
    "mlflow.source.type": "JOB",
    "mucast.version": provenance.versions.mucast,
    "mucast.commit": provenance.commit,
    "mucast.operation": output.operation,
    "mucast.id": output.id,
    "mucast.model": modelNameOf(output),
    "mucast.as_of": window.as_of,
    "mucast.verdict": verdict?.state,
    "mucast.verdict_title": verdict?.title,
    "mucast.tags": output.tags === undefined ? undefined : JSON.stringify(output.tags),
    "mucast.config_sha256": provenance.config_sha256,
    "mucast.feature_blob": blobName(provenance.feature_url),
    "mucast.feature_sha256": provenance.feature_sha256,
    "mucast.data_extractor_blob": blobName(provenance.data_extractor_url),
    "mucast.data_extractor_sha256": provenance.data_extractor_sha256,
  };
  return Object.entries(tags).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: cutText(value, MLFLOW_LIMITS.tag) }],
  );
}

/** The last part of a URL or a path, without a query string. */
function blobName(url: string): string {
  return url.split("?")[0]!.split("/").at(-1)!;
}
