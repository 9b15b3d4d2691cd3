import { outputName } from "../blob/names.ts";
import { openBlob } from "../blob/open-blob.ts";
import { withoutSignature } from "../blob/policy.ts";
import { verdictFigures } from "../contract/output/later-close.ts";
import { median } from "../evaluate/statistics.ts";
import { type OutputDocument, type Reading, readDocument } from "../outputs/open-document.ts";
import { modelNameOf, type OutputSummary } from "../outputs/output-summary.ts";
import { reportPage } from "../report/write-report.ts";

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
  readonly artifacts: readonly { readonly name: string; readonly type: string; readonly bytes: Uint8Array }[];
}

/** A param or a tag. */
interface NamedText {
  readonly key: string;
  readonly value: string;
}

/** A metric: values by step, which is a fold, a block or an epoch, counted from 1; 0 for a metric of the whole run. */
interface MetricSeries {
  readonly name: string;
  readonly points: readonly { readonly step: number; readonly value: number }[];
}

/**
 * Reads the output of a job, and draws its report.
 * @param location a path, a file: URL or a URL that the policy allows.
 * @throws MucastError of reading it; invalid_data if its metrics do not match its forecasts.
 */
export async function openTrackedOutput(location: string, reading: Reading): Promise<TrackedOutput> {
  const { policy, signal, blobUrl } = reading;
  const means = { blobUrl, names: "output", ...(signal === undefined ? {} : { signal }) } as const;
  const { name, chunks } = await openBlob(location, policy, means);
  return readTrackedOutput(name, chunks);
}

/** The same for an output whose bytes come from a store. @throws MucastError like `openTrackedOutput`. */
export async function readTrackedOutput(
  name: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<TrackedOutput> {
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  async function* again() {
    yield* pieces;
  }
  const output = await readDocument(name, again());
  const { document, sha256 } = output;
  // As its job wrote it, whatever its file is called now.
  const run = outputName(document.operation, document.id).replace(/\.json$/, "");
  const page = Buffer.from(reportPage(output));
  return {
    name: run,
    createdAt: Date.parse(document.created_at),
    sha256,
    params: runParams(document),
    metrics: runMetrics(output),
    tags: runTags(document, sha256),
    artifacts: [
      { name: `${run}.json`, type: "application/json", bytes: Buffer.concat(pieces) },
      { name: `${run}.html`, type: "text/html; charset=utf-8", bytes: page },
    ],
  };
}

/** Limits of MLflow, in characters. */
const MAX = { param: 6_000, tag: 8_000 };

/**
 * The resolved configuration of a job as params, names joined with dots: `model_params.num_leaves`. Lists are JSON. Also the window, the
 * seed and the device.
 */
export function runParams({ model, window, provenance }: OutputSummary): NamedText[] {
  const { seed, device } = provenance;
  return [...leaves({ ...model, window, seed, device })].map(([key, value]) => ({
    key,
    value: cutText(withoutSignature(value), MAX.param),
  }));
}

/** The values that are not objects, each with its path. */
function* leaves(object: object, prefix = ""): Generator<readonly [path: string, value: string]> {
  for (const [key, value] of Object.entries(object)) {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isObject && Object.keys(value).length > 0) yield* leaves(value, `${prefix}${key}.`);
    else if (value !== undefined)
      yield [`${prefix}${key}`, typeof value === "string" ? value : JSON.stringify(value)];
  }
}

/** The text with at most `most` characters; an ellipsis replaces the rest, and no half of a surrogate pair is left. */
function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** The tag by which the run of an output is found: the SHA-256 of the output's bytes. */
export const OUTPUT_TAG = "mucast.output_sha256";

/** Facts about the run, for searches: what it ran, from which blobs, and how its forecasts were judged. */
export function runTags(output: OutputSummary, sha256: string): NamedText[] {
  const { provenance, verdict } = output;
  const blobName = (url: string) => url.split("?")[0]!.split("/").at(-1)!;
  const tags: Record<string, string | undefined> = {
    [OUTPUT_TAG]: sha256,
    "mlflow.source.name": "mucast",
    "mlflow.source.type": "JOB",
    "mucast.version": provenance.versions.mucast,
    "mucast.commit": provenance.commit,
    "mucast.operation": output.operation,
    "mucast.id": output.id,
    "mucast.model": modelNameOf(output),
    "mucast.as_of": output.window.as_of,
    "mucast.verdict": verdict?.state,
    "mucast.verdict_title": verdict?.title,
    "mucast.tags": output.tags && JSON.stringify(output.tags),
    "mucast.config_sha256": provenance.config_sha256,
    "mucast.feature_blob": blobName(provenance.feature_url),
    "mucast.feature_sha256": provenance.feature_sha256,
    "mucast.data_extractor_blob": blobName(provenance.data_extractor_url),
    "mucast.data_extractor_sha256": provenance.data_extractor_sha256,
  };
  return Object.entries(tags).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: cutText(value, MAX.tag) }],
  );
}

/**
 * The metrics of an output. `score/` and `out_of_fold/`: over all rows; `zero/` and `mean/`: those of the baselines; `fold/`, by fold, and
 * `epoch/`, by epoch: medians over the tickers and the networks; `block/`: by block of refits. Undefined values are absent.
 */
export function runMetrics(output: OutputDocument): MetricSeries[] {
  const { training = {}, refits } = output.document;
  const folds = (output.outOfFold ?? []).flatMap(({ folds: rows }) =>
    rows.map(({ number, fold }) => [number, { fold }] as const),
  );
  const networks = Object.values(training).flatMap(({ members = [], ...first }) => [first, ...members]);
  const epochs = networks.flatMap((network) => network.epochs.map((epoch, k) => [k + 1, { epoch }] as const));
  const longest = networks.reduce((most, network) => Math.max(most, network.epochs.length), 0);
  const counts = Array.from({ length: longest }, (_, k) => {
    const value = networks.filter((network) => network.epochs.length > k).length;
    return [k + 1, { epoch: { networks: value } }] as const;
  });
  const blocks = (refits?.blocks ?? []).map((block, k) => [k + 1, { block }] as const);
  return medianSeries([[0, wholeFigures(output.document)], ...folds, ...epochs, ...counts, ...blocks]);
}

function wholeFigures({ metrics, verdict, mu, warnings, failures }: OutputSummary): object {
  const { score, out_of_fold, baselines, intervals, shrinkage } = metrics;
  const judged = verdict?.judged[0];
  const overTime = verdict?.judged.flatMap(({ rows, order }) => (order.form === "time_series" ? [rows] : []));
  const baseline = ({ score, out_of_fold }: typeof baselines.zero) => ({
    score: score.pooled,
    out_of_fold: out_of_fold?.pooled,
  });
  return {
    tickers: Object.keys(mu).length,
    failures: failures.length,
    warnings: warnings.length,
    score: tableFigures(score, overTime?.includes("score") === true),
    out_of_fold: out_of_fold && tableFigures(out_of_fold, overTime?.includes("out_of_fold") === true),
    zero: baseline(baselines.zero),
    mean: baseline(baselines.mean),
    intervals: intervals?.pooled,
    shrinkage: shrinkage?.pooled,
    verdict: judged && {
      order: judged.order.figure,
      order_t: judged.order.t,
      ...verdictFigures(judged),
      coverage: judged.intervals?.figure,
    },
  };
}

/** @param isOverTime whether there are fewer than five tickers, whose order is judged over time, so that ICs say nothing. */
function tableFigures(table: OutputSummary["metrics"]["score"], isOverTime: boolean): object {
  const { pooled, cross_section, r2_zero_median, by_delay = [], exposures } = table;
  const { by_exposure = [], ...ofExposures } = exposures ?? {};
  return {
    ...(isOverTime ? {} : cross_section),
    ...pooled,
    r2_zero_median,
    ...Object.fromEntries(by_delay.map(({ delay, ...figures }) => [`delay_${delay}`, figures])),
    exposures: {
      ...ofExposures,
      ...Object.fromEntries(by_exposure.map(({ name, ...figures }) => [name, figures])),
    },
  };
}

/** The medians of the numbers of several tickers or networks, by name and step. */
function medianSeries(rows: readonly (readonly [step: number, figures: object])[]): MetricSeries[] {
  const values = new Map<string, Map<number, number[]>>();
  for (const [step, figures] of rows) {
    for (const [name, value] of numbersIn(figures, "")) {
      const steps = values.get(name) ?? new Map<number, number[]>();
      const numbers = steps.get(step) ?? [];
      numbers.push(value);
      values.set(name, steps.set(step, numbers));
    }
  }
  return [...values].map(([name, steps]) => ({
    name,
    points: [...steps]
      .map(([step, numbers]) => ({ step, value: median(Float64Array.from(numbers))! }))
      .sort((a, b) => a.step - b.step),
  }));
}

/** The finite numbers in an object, each with the names that lead to it, joined with slashes. */
function* numbersIn(value: unknown, name: string): Generator<readonly [name: string, value: number]> {
  if (typeof value === "number" && Number.isFinite(value)) yield [name, value];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return;
  for (const [key, member] of Object.entries(value))
    yield* numbersIn(member, name === "" ? key : `${name}/${key}`);
}
