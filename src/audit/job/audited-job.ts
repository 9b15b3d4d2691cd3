import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeOutput } from "../../blob/folder/output-folder.ts";
import { isRemoteUrl } from "../../blob/location.ts";
import type { Content } from "../../blob/store.ts";
import { parseDlSettings } from "../../contract/config/dl-settings.ts";
import type { Operation } from "../../contract/config/job-operations.ts";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { type RawObject, rawNumber, rawNumbers } from "../../contract/json/json-text.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { TickerFeatures } from "../../contract/market/ticker-series.ts";
import type { Report } from "../../contract/output/job-events.ts";
import { crashIn, type Failure, isCrash, namedFailure } from "../../contract/problems/problem.ts";
import { readFeatures } from "../../ingest/read-blob.ts";
import type { Jobs } from "../../jobs/run-job.ts";
import type { JobContext, JobRequest } from "../../jobs/shared/job.ts";
import type { AuditedBlobs, AuditInputs } from "../audit-inputs.ts";
import { type AuditedPrices, readAuditedPrices, tickersOf } from "./audited-prices.ts";
import { type CutPlan, cutFeaturesText, cutPricesText, planCuts } from "./cut-blobs.ts";
import { outputMember } from "./output-parts.ts";

/** The inputs of a job on this machine. */
type LocalBlobs = Pick<JobRequest, "featureUrl" | "dataExtractorUrl">;

/** The job on the whole blobs, with the cut of `plan`. */
export interface FullRun {
  readonly plan: CutPlan;
  readonly featureUrl: string;
  /** Path of the output. */
  readonly output: string;
}

/** The reason why the job cannot be judged. */
interface NotAudited {
  readonly reason: string;
}

interface JobParts {
  readonly jobs: Jobs;
  readonly inputs: AuditInputs;
  readonly context: JobContext;
  readonly blobs: AuditedBlobs;
  /** An existing private folder. */
  readonly folder: string;
}

/** After every day that a blob can name. */
const LAST_DAY: Day = Number.POSITIVE_INFINITY;

/**
 * The job that an audit judges. It runs on the whole blobs once, for the first check that needs it; the output stays until `close`.
 */
export class AuditedJob {
  readonly #parts: JobParts;
  #prices: AuditedPrices | undefined;
  #whole: Promise<FullRun | NotAudited> | undefined;
  #kernelLevel: string | undefined;

  constructor(parts: JobParts) {
    this.#parts = parts;
  }

  /** The level that the kernels were pinned to; undefined if they were not, or if no job has run. */
  get kernelLevel(): string | undefined {
    return this.#kernelLevel;
  }

  /** @throws MucastError of the blobs, of the config and of the job. */
  whole(): Promise<FullRun | NotAudited> {
    this.#whole ??= this.#runWhole();
    return this.#whole;
  }

  /**
   * Runs the job on both blobs as of `day`, after `whole` has run.
   * @param folder for the copies and the output; the caller removes it.
   * @returns the path of the output.
   */
  async runCut(day: Day, whole: FullRun, folder: string): Promise<string> {
    const blobs = {
      featureUrl: await this.#writeFeatures(folder, day, whole.featureUrl),
      dataExtractorUrl: await this.#writePrices(folder, { day, until: day }, whole.plan),
    };
    return this.#run(blobs, folder);
  }

  async #runWhole(): Promise<FullRun | NotAudited> {
    const { inputs, context, blobs, folder } = this.#parts;
    const { operation, request, truncations } = inputs;
    if (operation === "run_ml_job") parseMlSettings(request.config);
    else if (!parseDlSettings(request.config).settings.status) {
      return { reason: "the config disables the job" };
    }
    const source = await blobs.open(request.dataExtractorUrl);
    this.#prices = await readAuditedPrices(source, request.window, context, folder);
    const { dates, window } = this.#prices;
    const plan = planCuts(dates, window.learningEnd, truncations);
    if (plan === undefined) return { reason: "the window has too few dates for a cut" };
    const local = await this.#wholeBlobs(plan, window.end);
    const output = await this.#run(local, this.#wholeFolder);
    const provenance = (await outputMember(output, "provenance", context.signal))!;
    this.#kernelLevel = provenance.kernel_level ?? undefined;
    const read = [
      [local.featureUrl, request.featureUrl, provenance.feature_sha256],
      [local.dataExtractorUrl, request.dataExtractorUrl, provenance.data_extractor_sha256],
    ] as const;
    for (const [url, given, sha256] of read) if (url === given) blobs.note(given, { name: given, sha256 });
    return { plan, featureUrl: local.featureUrl, output };
  }

  get #wholeFolder(): string {
    return join(this.#parts.folder, "whole");
  }

  /** The blobs themselves, or copies: of remote ones, and of prices that lack the cut that the audit chose. */
  async #wholeBlobs(plan: CutPlan, end: Day): Promise<LocalBlobs> {
    const { featureUrl, dataExtractorUrl } = this.#parts.inputs.request;
    const folder = this.#wholeFolder;
    const isCopied = plan.isChosen || isRemoteUrl(dataExtractorUrl);
    return {
      featureUrl: isRemoteUrl(featureUrl)
        ? await this.#writeFeatures(folder, LAST_DAY, featureUrl)
        : featureUrl,
      dataExtractorUrl: isCopied
        ? await this.#writePrices(folder, { day: end, until: LAST_DAY }, plan)
        : dataExtractorUrl,
    };
  }

  #writeFeatures(folder: string, until: Day, url: string): Promise<string> {
    return this.#write(folder, "feature_engine_audit.json", cutFeaturesText(until, this.#featuresOf(url)));
  }

  async *#featuresOf(url: string): AsyncGenerator<TickerFeatures> {
    const { blobs, folder: workFolder, context } = this.#parts;
    const { signal, policy } = context;
    const blob = await blobs.open(url);
    try {
      yield* readFeatures(blob, { workFolder, signal, limits: policy.limits });
    } finally {
      await blob.close();
    }
  }

  /** @param day the end of the copy's window. */
  #writePrices(
    folder: string,
    { day, until }: Readonly<Record<"day" | "until", Day>>,
    { learningEnd }: CutPlan,
  ): Promise<string> {
    const { window, blob } = this.#prices!;
    const copied = { start: window.start, end: day, learningEnd };
    return this.#write(folder, "data_extractor_audit.json", cutPricesText(copied, until, tickersOf(blob)));
  }

  #write(folder: string, name: string, content: Content): Promise<string> {
    return writeOutput(join(folder, "data"), name, content, { signal: this.#parts.context.signal });
  }

  async #run(blobs: LocalBlobs, folder: string): Promise<string> {
    const { jobs, inputs, context } = this.#parts;
    const { operation, request, quick, portable } = inputs;
    const config = auditedConfig(request.config, operation, quick);
    // A copy names the whole window, and perhaps another one.
    const window = blobs.dataExtractorUrl === request.dataExtractorUrl ? request.window : undefined;
    const job = { ...blobs, config, window, blobUrl: folder, id: "audit" };
    const crashes: Failure[] = [];
    const report: Report = (event) => {
      if (event.kind === "failure" && isCrash(event.failure)) crashes.push(event.failure);
    };
    const record = await jobs[operation](job, { ...context, report, portable }).catch((error) => {
      const crash = crashIn(error);
      throw crash === undefined ? error : crashError(crash);
    });
    if (crashes.length > 0) throw crashError(crashes[0]!);
    return fileURLToPath(record.output_url);
  }
}

/** If a job lost a ticker to an engine crash, that says nothing about the blobs, and would look like a leak. */
function crashError(failure: Failure): MucastError {
  const { ticker } = failure;
  const message = `${namedFailure(failure)}; this failed the ticker in a job of the audit, which says nothing about the blobs: run the audit again`;
  return new MucastError("engine_crashed", message, { ticker });
}

/** Epochs of a network in a quick audit. */
const QUICK_EPOCHS = "2";

/** Epochs of its candidates. */
const OTHER_EPOCHS = "1";

/** Penalty of the candidates of a quick audit; the ridge of the config itself has 1. */
const QUICK_ALPHA = "100";

/**
 * The config that the audit runs, as JSON text; numbers keep the caller's own text. Networks train on the CPU, where equal inputs
 * give equal bits. A quick audit of run_ml_job uses a ridge regression with the caller's folds, intervals, scaler and shrinkage; one
 * of run_dl_job uses one network of the caller's for 2 epochs. The candidates of a quick choice are such models too.
 * @param config a config that the job accepts.
 */
export function auditedConfig(config: string, operation: Operation, quick: boolean): string {
  const given = rawNumbers(config) as RawObject;
  return JSON.stringify(operation === "run_ml_job" ? mlConfig(given, quick) : dlConfig(given, quick));
}

function mlConfig(given: RawObject, quick: boolean): RawObject {
  // No check reads it, and each job of the audit would measure it again.
  const { importance: _, ...params } = given["ML params"] as RawObject;
  if (!quick) return { "ML params": params };
  const { choice, ...alone } = params as { readonly choice?: RawObject };
  const ridge = { ...alone, model: "ridge", model_params: {} };
  const other = { model_params: { alpha: rawNumber(QUICK_ALPHA) } };
  return { "ML params": choice === undefined ? ridge : { ...ridge, choice: quickChoice(choice, other) } };
}

/** One candidate for each way of comparing tickers that the candidates have, with settings that the config itself does not have. */
function quickChoice({ candidates, ...choice }: RawObject, settings: RawObject): RawObject {
  const ways = (candidates as readonly RawObject[]).map(({ fit, target, cross_section }) =>
    JSON.stringify({ fit, target, cross_section }),
  );
  return { ...choice, candidates: [...new Set(ways)].map((way) => ({ ...JSON.parse(way), ...settings })) };
}

function dlConfig(given: RawObject, quick: boolean): RawObject {
  const dot = (given["NN params"] as RawObject)["Dot prediction"] as RawObject;
  const { global_settings = {}, training_params = {}, choice } = dot as Record<string, RawObject>;
  const { ensemble: _, ...ofOne } = training_params;
  const audited = {
    ...dot,
    global_settings: { ...global_settings, device: "cpu" },
    training_params: quick ? { ...ofOne, epochs: rawNumber(QUICK_EPOCHS) } : training_params,
    ...(quick && choice !== undefined
      ? { choice: quickChoice(choice, { training_params: { epochs: rawNumber(OTHER_EPOCHS) } }) }
      : {}),
  };
  return { "NN params": { "Dot prediction": audited } };
}
