import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeOutput } from "../../blob/folder/output-folder.ts";
import { isRemoteUrl } from "../../blob/location.ts";
import type { Content } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { TickerPrices } from "../../contract/market/ticker-series.ts";
import type { Report } from "../../contract/output/job-events.ts";
import { crashIn, type Failure, isCrash, namedFailure } from "../../contract/problems/problem.ts";
import type { PriceBlob } from "../../ingest/read-prices.ts";
import type { Jobs } from "../../jobs/run-job.ts";
import type { JobContext, JobRequest } from "../../jobs/shared/job.ts";
import { jobWindow } from "../../jobs/shared/read-inputs.ts";
import { priceDates } from "../../panel/price-dates.ts";
import { resolveWindow } from "../../panel/window.ts";
import type { AuditedBlobs } from "../audited-blobs.ts";
import { type AuditInputs, jobSettings } from "../check.ts";
import { auditedConfig } from "./audited-config.ts";
import { type CutPlan, cutFeaturesText, cutPricesText, planCuts } from "./cut-blobs.ts";
import { outputMember } from "./output-parts.ts";

/** The job on the whole blobs, with the cut of `plan`. */
export interface FullRun {
  readonly plan: CutPlan;
  /** Path of the output. */
  readonly output: string;
  /**
   * Runs the job on both blobs as of `day`.
   * @param folder for the copies and the output; the caller removes it.
   * @returns the path of the output.
   */
  runCut(day: Day, folder: string): Promise<string>;
}

/** Why the job cannot be judged. */
type NotAudited = { readonly reason: string };

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

/** The job that an audit judges. It runs on the whole blobs once, for the first check that needs it. */
export class AuditedJob {
  readonly #parts: JobParts;
  #whole: Promise<FullRun | NotAudited> | undefined;
  /** The level that the kernels were pinned to; undefined if they were not, or if no job has run. */
  kernelLevel: string | undefined;

  constructor(parts: JobParts) {
    this.#parts = parts;
  }

  /** @throws MucastError of the blobs, of the config and of the job. */
  whole(): Promise<FullRun | NotAudited> {
    this.#whole ??= this.#runWhole();
    return this.#whole;
  }

  async #runWhole(): Promise<FullRun | NotAudited> {
    const { inputs, context, blobs, folder } = this.#parts;
    const { request, truncations } = inputs;
    const { featureUrl, dataExtractorUrl } = request;
    if (!jobSettings(inputs).status) return { reason: "the config disables the job" };
    const { prices, window, dates } = await this.#readPrices();
    const plan = planCuts(dates, window.learningEnd, truncations);
    if (plan === undefined) return { reason: "the window has too few dates for a cut" };
    const { learningEnd, isChosen } = plan;
    const write = (to: string, name: string, content: Content) =>
      writeOutput(join(to, "data"), name, content, { signal: context.signal });
    const writeFeatures = (to: string, until: Day, url: string) =>
      write(to, "feature_engine_audit.json", cutFeaturesText(until, blobs.readFeatures(url)));
    const writePrices = (to: string, end: Day, until: Day) => {
      const copied = { start: window.start, end, learningEnd };
      return write(to, "data_extractor_audit.json", cutPricesText(copied, until, tickersOf(prices)));
    };
    // The blobs themselves, or copies: of remote ones, and of prices that lack the cut that the audit chose.
    const whole = join(folder, "whole");
    const isCopied = isChosen || isRemoteUrl(dataExtractorUrl);
    const local = {
      featureUrl: isRemoteUrl(featureUrl) ? await writeFeatures(whole, LAST_DAY, featureUrl) : featureUrl,
      dataExtractorUrl: isCopied ? await writePrices(whole, window.end, LAST_DAY) : dataExtractorUrl,
    };
    const output = await this.#run(local, whole);
    const provenance = (await outputMember(output, "provenance", context.signal))!;
    this.kernelLevel = provenance.kernel_level ?? undefined;
    if (local.featureUrl === featureUrl)
      blobs.note(featureUrl, { name: featureUrl, sha256: provenance.feature_sha256 });
    if (!isCopied)
      blobs.note(dataExtractorUrl, { name: dataExtractorUrl, sha256: provenance.data_extractor_sha256 });
    const runCut = async (day: Day, to: string) => {
      const features = await writeFeatures(to, day, local.featureUrl);
      return this.#run({ featureUrl: features, dataExtractorUrl: await writePrices(to, day, day) }, to);
    };
    return { plan, output, runCut };
  }

  /** The prices with their window, and the dates in it on which some ticker has one, ascending. */
  async #readPrices() {
    const { inputs, blobs } = this.#parts;
    const { name, prices } = await blobs.readPrices(inputs.request.dataExtractorUrl);
    const requested = jobWindow(prices.window, inputs.request.window, name);
    const { window } = resolveWindow(requested, tickersOf(prices), name);
    const days = new Set<Day>();
    for (const each of tickersOf(prices)) for (const day of priceDates(each, window).days) days.add(day);
    return { prices, window, dates: Int32Array.from(days).sort() };
  }

  async #run(blobs: Pick<JobRequest, "featureUrl" | "dataExtractorUrl">, folder: string): Promise<string> {
    const { jobs, inputs, context } = this.#parts;
    const { operation, request, quick, portable } = inputs;
    const config = auditedConfig(request.config, operation, quick);
    // A copy names the whole window, and perhaps another one.
    const window = blobs.dataExtractorUrl === request.dataExtractorUrl ? request.window : undefined;
    const job = { ...blobs, config, window, blobUrl: folder, id: "audit" };
    let crash: Failure | undefined;
    const report: Report = (event) => {
      if (event.kind === "failure" && isCrash(event.failure)) crash ??= event.failure;
    };
    const record = await jobs[operation](job, { ...context, report, portable }).catch((error) => {
      const fatal = crashIn(error);
      throw fatal === undefined ? error : crashError(fatal);
    });
    if (crash !== undefined) throw crashError(crash);
    return fileURLToPath(record.output_url);
  }
}

function* tickersOf(prices: PriceBlob): Generator<TickerPrices> {
  for (const ticker of prices.tickers) yield prices.load(ticker);
}

/** If a job lost a ticker to an engine crash, that says nothing about the blobs, and would look like a leak. */
function crashError(failure: Failure): MucastError {
  const { ticker } = failure;
  const message = `${namedFailure(failure)}; this failed the ticker in a job of the audit, which says nothing about the blobs: run the audit again`;
  return new MucastError("engine_crashed", message, { ticker });
}
