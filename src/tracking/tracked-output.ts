import { openBlob } from "../blob/open-blob.ts";
import { type OutputDocument, type Reading, readDocument } from "../outputs/open-document.ts";
import { reportPage } from "../report/write-report.ts";
import { type MetricSeries, runMetrics } from "./run-metrics.ts";
import { type NamedText, runParams } from "./run-params.ts";
import { runTags, writtenName } from "./run-tags.ts";

/** What a tracker records of an output. */
export interface TrackedOutput {
  /** Name of the run: the output's name without its extension. */
  readonly name: string;
  /** Milliseconds since 1970: when the output was made. */
  readonly createdAt: number;
  /** Digest of the output's bytes, hexadecimal. */
  readonly sha256: string;
  readonly params: readonly NamedText[];
  readonly metrics: readonly MetricSeries[];
  readonly tags: readonly NamedText[];
  /** The output and its report. */
  readonly artifacts: readonly Artifact[];
}

interface Artifact {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/**
 * Reads the output of a job, and draws its report.
 * @param location a path, a file: URL or a URL that the policy allows.
 * @throws MucastError of reading it; invalid_data if its metrics do not match its forecasts.
 */
export async function openTrackedOutput(location: string, reading: Reading): Promise<TrackedOutput> {
  const { policy, signal, blobUrl } = reading;
  const blob = await openBlob(location, policy, {
    blobUrl,
    names: "output",
    ...(signal === undefined ? {} : { signal }),
  });
  return readTrackedOutput(blob.name, blob.chunks);
}

/** The same for an output whose bytes come from a store. @throws MucastError like `openTrackedOutput`. */
export async function readTrackedOutput(
  name: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<TrackedOutput> {
  const pieces: Uint8Array[] = [];
  const document = await readDocument(name, collected(chunks, pieces));
  const page = Buffer.from(reportPage(document));
  return trackedOutput(document, Buffer.concat(pieces), page);
}

async function* collected(
  chunks: AsyncIterable<Uint8Array>,
  pieces: Uint8Array[],
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    pieces.push(chunk);
    yield chunk;
  }
}

function trackedOutput(output: OutputDocument, bytes: Uint8Array, page: Uint8Array): TrackedOutput {
  const { document, sha256 } = output;
  const name = (writtenName(document) ?? "output.json").replace(/\.json$/, "");
  return {
    name,
    createdAt: Date.parse(document.created_at),
    sha256,
    params: runParams(document),
    metrics: runMetrics(output),
    tags: runTags(document, sha256),
    artifacts: [
      { name: `${name}.json`, type: "application/json", bytes },
      { name: `${name}.html`, type: "text/html; charset=utf-8", bytes: page },
    ],
  };
}
