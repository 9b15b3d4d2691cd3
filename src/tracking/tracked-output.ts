import { Readable } from "node:stream";
import { outputName } from "../blob/names.ts";
import { openBlob } from "../blob/open-blob.ts";
import { withoutSignature } from "../blob/policy.ts";
import { verdictFigures } from "../contract/output/later-close.ts";
import { median } from "../evaluate/statistics.ts";
import { type OutputDocument, type Reading, readDocument } from "../outputs/open-document.ts";
import { modelNameOf, type OutputSummary } from "../outputs/output-summary.ts";
import { reportPage } from "../report/write-report.ts";

export type TrackedOutput = Awaited<ReturnType<typeof readTrackedOutput>>;

/** @param location a path, a file: URL or a URL that the policy allows. */
export async function openTrackedOutput(location: string, reading: Reading): Promise<TrackedOutput> {
  const { policy, signal, blobUrl } = reading;
  const means = { blobUrl, names: "output", ...(signal === undefined ? {} : { signal }) } as const;
  const { name, chunks } = await openBlob(location, policy, means);
  return readTrackedOutput(name, chunks);
}

export async function readTrackedOutput(name: string, chunks: AsyncIterable<Uint8Array>) {
  const pieces: Uint8Array<ArrayBuffer>[] = await Readable.from(chunks).toArray();
  const output = await readDocument(name, Readable.from(pieces));
  const { document, sha256 } = output;
  const { model, window, provenance } = document;
  const { seed, device } = provenance;
  // As its job wrote it, whatever its file is called now.
  const run = outputName(document.operation, document.id).replace(/\.json$/, "");
  return {
    name: run,
    /** Milliseconds since 1970. */
    createdAt: Date.parse(document.created_at),
    sha256,
    /** The resolved config, names joined with dots: `model_params.num_leaves`. Lists are JSON. */
    params: [...leaves({ ...model, window, seed, device }, ".")].map(([key, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return { key, value: cutText(withoutSignature(text), MAX_PARAM) };
    }),
    metrics: runMetrics(output),
    tags: runTags(document, sha256),
    artifacts: [
      new File(pieces as Uint8Array<ArrayBuffer>[], `${run}.json`, { type: "application/json" }),
      new File([reportPage(output)], `${run}.html`, { type: "text/html; charset=utf-8" }),
    ],
  };
}

/** Limits of MLflow, in characters. */
const [MAX_PARAM, MAX_TAG] = [6_000, 8_000];

/** The tag by which the run of an output is found: the SHA-256 of the output's bytes. */
export const OUTPUT_TAG = "mucast.output_sha256";

export function runTags(output: OutputSummary, sha256: string) {
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
    value === undefined ? [] : [{ key, value: cutText(value, MAX_TAG) }],
  );
}

/** `fold/` and `epoch/` are medians over tickers and networks. Steps count from 1; a metric of the whole run has step 0. */
export function runMetrics({ document, outOfFold = [] }: OutputDocument) {
  const { training = {}, refits, metrics, verdict, mu, warnings, failures } = document;
  const { score, out_of_fold, baselines, intervals, shrinkage } = metrics;
  const judged = verdict?.judged[0];
  const overTime = verdict?.judged.flatMap(({ rows, order }) => (order.form === "time_series" ? [rows] : []));
  const baseline = ({ score, out_of_fold }: typeof baselines.zero) => ({
    score: score.pooled,
    out_of_fold: out_of_fold?.pooled,
  });
  const whole = {
    tickers: Object.keys(mu).length,
    failures: failures.length,
    warnings: warnings.length,
    score: tableFigures(score, overTime?.includes("score")),
    out_of_fold: out_of_fold && tableFigures(out_of_fold, overTime?.includes("out_of_fold")),
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
  const networks = Object.values(training).flatMap(({ members = [], ...first }) => [first, ...members]);
  const trained: number[] = [];
  for (const { epochs } of networks) for (const k of epochs.keys()) trained[k] = (trained[k] ?? 0) + 1;
  return medianSeries([
    [0, whole],
    ...outOfFold.flatMap(({ folds }) => folds.map(({ number, fold }): StepFigures => [number, { fold }])),
    ...networks.flatMap(({ epochs }) =>
      epochs.map((epoch, k): StepFigures => [k + 1, { epoch: { ...epoch, networks: trained[k] } }]),
    ),
    ...(refits?.blocks ?? []).map((block, k): StepFigures => [k + 1, { block }]),
  ]);
}

/** @param isOverTime whether there are fewer than five tickers, whose order is judged over time, so that ICs say nothing. */
function tableFigures(table: OutputSummary["metrics"]["score"], isOverTime = false): object {
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

type StepFigures = readonly [step: number, figures: object];

function medianSeries(rows: readonly StepFigures[]) {
  const numbers = rows.flatMap(([step, figures]) =>
    [...leaves(figures, "/")].flatMap(([name, value]) =>
      typeof value === "number" && Number.isFinite(value) ? [{ name, step, value }] : [],
    ),
  );
  return [...Map.groupBy(numbers, ({ name }) => name)].map(([name, ofName]) => ({
    name,
    points: [...Map.groupBy(ofName, ({ step }) => step)]
      .map(([step, ofStep]) => ({ step, value: median(Float64Array.from(ofStep, ({ value }) => value))! }))
      .sort((a, b) => a.step - b.step),
  }));
}

function* leaves(object: object, joint: string, prefix = ""): Generator<readonly [string, unknown]> {
  for (const [key, value] of Object.entries(object)) {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isObject && Object.keys(value).length > 0) yield* leaves(value, joint, `${prefix}${key}${joint}`);
    else if (value !== undefined) yield [`${prefix}${key}`, value];
  }
}

function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}
