import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Content } from "../../blob/content.ts";
import { isWebUrl, writeOutput } from "../../blob/folder/output-folder.ts";
import { openBlob } from "../../blob/open-blob.ts";
import { parseDlSettings } from "../../contract/config/dl-settings.ts";
import type { Operation } from "../../contract/config/job-operations.ts";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { inTurns } from "../../contract/machine/pausable.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import { type PriceBlob, readPrices } from "../../ingest/read-prices.ts";
import { runDlJob } from "../../jobs/dl/run-dl-job.ts";
import { runMlJob } from "../../jobs/ml/run-ml-job.ts";
import type { JobContext, JobRequest } from "../../jobs/shared/job.ts";
import { openWorkFolder } from "../../jobs/shared/work-folder.ts";
import { isPrice } from "../../panel/price-dates.ts";
import { type ResolvedWindow, resolveWindow } from "../../panel/window.ts";
import {
  type AuditCheck,
  type AuditContext,
  type AuditInputs,
  type CheckResult,
  notRun,
  ranCheck,
} from "../check.ts";
import { auditedConfig } from "./audited-config.ts";
import { Changes } from "./changes.ts";
import { type Compared, compareOutputs } from "./compare-outputs.ts";
import { cutFeaturesText, cutPricesText, featuresOf } from "./cut-blobs.ts";
import { type CutPlan, planCuts } from "./cut-plan.ts";

type Jobs = Readonly<Record<Operation, (request: JobRequest, context: JobContext) => Promise<ResultRecord>>>;

/**
 * Cuts both blobs after dates past the cut and runs the job on each pair: what is dated up to such a date must not change.
 * One cut lies on disk at a time.
 * @param jobs those that are looked at; faulty ones are for tests.
 */
export function truncationOf(jobs: Jobs): AuditCheck {
  return {
    name: "truncation",
    cost: ({ truncations, quick }) =>
      `${counted(truncations + 1, "job")}${quick ? " of the quick model" : ""}, and as many readings of both blobs`,
    run: (inputs, context) => checkTruncation(jobs, inputs, context),
  };
}

export const truncation = truncationOf({ run_ml_job: runMlJob, run_dl_job: runDlJob });

/** After every day that a blob can name. */
const LAST_DAY: Day = Number.POSITIVE_INFINITY;

async function checkTruncation(jobs: Jobs, inputs: AuditInputs, context: AuditContext): Promise<CheckResult> {
  if (inputs.operation === "run_ml_job") parseMlSettings(inputs.request.config);
  else if (!parseDlSettings(inputs.request.config).settings.enabled) {
    return notRun("the config switches the job off");
  }
  const work = openWorkFolder();
  try {
    const prices = await openPrices(inputs.request, context, work.path);
    try {
      const plan = planCuts(prices.dates, prices.window.learningEnd, inputs.truncations);
      if (plan === undefined) return notRun("the window has too few dates to cut one off");
      return await new Runs({ jobs, inputs, context, folder: work.path, prices, plan }).compare();
    } finally {
      prices.blob.close();
    }
  } finally {
    work.remove();
  }
}

/** The data-extraction blob of an audit, read once. */
interface AuditedPrices {
  readonly blob: PriceBlob;
  readonly window: ResolvedWindow;
  /** Shape (n), ascending: the dates of the window on which some ticker has a price. */
  readonly dates: Int32Array;
}

async function openPrices(
  { dataExtractorUrl, blobUrl }: JobRequest,
  { policy, signal }: JobContext,
  workFolder: string,
): Promise<AuditedPrices> {
  const source = await openBlob(dataExtractorUrl, policy, { signal, blobUrl });
  const blob = await readPrices(source, { workFolder, signal, limits: policy.limits });
  try {
    const { window } = await inTurns(resolveWindow(blob.window, tickersOf(blob), source.name), signal);
    const days = new Set<Day>();
    for (const { days: own, prices } of tickersOf(blob)) {
      for (const [i, day] of own.entries()) {
        if (day >= window.start && day <= window.end && isPrice(prices[i]!)) days.add(day);
      }
    }
    return { blob, window, dates: Int32Array.from(days).sort() };
  } catch (error) {
    blob.close();
    throw error;
  }
}

function* tickersOf(blob: PriceBlob) {
  for (const ticker of blob.tickers) yield blob.load(ticker);
}

/** A cut on which the job has no forecast, so that there is nothing to compare. */
interface NotCompared {
  readonly date: string;
  readonly code: string;
  readonly message: string;
}

/** The inputs of a job on this machine. */
type LocalBlobs = Pick<JobRequest, "featureUrl" | "dataExtractorUrl">;

/** Codes of a job without a ticker that has forecasts; the job on the whole blobs has one. */
const NO_TICKER: ReadonlySet<string> = new Set(["insufficient_history", "sparse_prices", "all_failed"]);

interface RunParts {
  readonly jobs: Jobs;
  readonly inputs: AuditInputs;
  readonly context: AuditContext;
  /** The work folder. */
  readonly folder: string;
  readonly prices: AuditedPrices;
  readonly plan: CutPlan;
}

/** The runs of one audit: on the whole blobs, and on each pair of cut ones. */
class Runs {
  readonly #parts: RunParts;
  readonly #changes = new Changes();
  readonly #compared: Compared[] = [];
  readonly #notCompared: NotCompared[] = [];

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  async compare(): Promise<CheckResult> {
    const { cutAfter } = this.#parts.plan;
    const jobs = cutAfter.length + 1;
    const blobs = await this.#wholeBlobs();
    const whole = await this.#run(blobs, join(this.#parts.folder, "whole"));
    this.#parts.context.onStep?.(1, jobs);
    for (const [i, day] of cutAfter.entries()) {
      await this.#compareCut(day, blobs.featureUrl, whole);
      this.#parts.context.onStep?.(i + 2, jobs);
    }
    const findings = this.#changes.findings();
    if (this.#compared.length === 0 && findings.length === 0) {
      return notRun(`the job has no forecast on any cut: ${this.#notCompared[0]!.message}`);
    }
    const tests = this.#compared.reduce((sum, { values }) => sum + values, 0);
    return ranCheck({ tests, findings, facts: this.#facts() });
  }

  #facts(): CheckResult["facts"] {
    const { learningEnd, isChosen, cutAfter } = this.#parts.plan;
    return {
      learning_end: formatDay(learningEnd),
      learning_end_chosen: isChosen,
      cut_after: cutAfter.map(formatDay),
      jobs: cutAfter.length + 1,
      tickers: Math.max(0, ...this.#compared.map(({ tickers }) => tickers)),
      forecasts: this.#compared.reduce((sum, { forecasts }) => sum + forecasts, 0),
      not_compared: this.#notCompared.map((each) => ({ ...each })),
    };
  }

  async #compareCut(day: Day, featureUrl: string, whole: string): Promise<void> {
    const date = formatDay(day);
    const folder = join(this.#parts.folder, date);
    try {
      const cut = await this.#run(await this.#cutBlobs(day, featureUrl, folder), folder);
      const onDifference = this.#changes.add.bind(this.#changes, date);
      const { signal } = this.#parts.context;
      this.#compared.push(await compareOutputs({ whole, cut, date }, onDifference, signal));
    } catch (error) {
      if (!(error instanceof MucastError)) throw error;
      const { code, message } = error;
      if (code === "no_forecast") this.#notCompared.push({ date, code, message });
      else if (NO_TICKER.has(code)) this.#changes.addNoTicker(date, message);
      else throw error;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #cutBlobs(day: Day, featureUrl: string, folder: string): Promise<LocalBlobs> {
    return {
      featureUrl: await this.#writeFeatures(folder, day, { featureUrl }),
      dataExtractorUrl: await this.#writePrices(folder, day, day),
    };
  }

  /** The blobs as they are; copies of remote ones, and of prices that lack the cut that the audit chose. */
  async #wholeBlobs(): Promise<LocalBlobs> {
    const { featureUrl, dataExtractorUrl } = this.#parts.inputs.request;
    const folder = join(this.#parts.folder, "whole");
    const isCopied = this.#parts.plan.isChosen || isWebUrl(dataExtractorUrl);
    return {
      featureUrl: isWebUrl(featureUrl)
        ? await this.#writeFeatures(folder, LAST_DAY, this.#parts.inputs.request)
        : featureUrl,
      dataExtractorUrl: isCopied
        ? await this.#writePrices(folder, this.#parts.prices.window.end, LAST_DAY)
        : dataExtractorUrl,
    };
  }

  #writeFeatures(folder: string, until: Day, source: Parameters<typeof featuresOf>[0]): Promise<string> {
    const features = featuresOf(source, this.#parts.context, this.#parts.folder);
    return this.#write(folder, "feature_engine_audit.json", cutFeaturesText(until, features));
  }

  #writePrices(folder: string, end: Day, until: Day): Promise<string> {
    const { window, blob } = this.#parts.prices;
    const copied = { start: window.start, end, learningEnd: this.#parts.plan.learningEnd };
    return this.#write(folder, "data_extractor_audit.json", cutPricesText(copied, until, tickersOf(blob)));
  }

  #write(folder: string, name: string, content: Content): Promise<string> {
    return writeOutput(join(folder, "data"), name, content, { signal: this.#parts.context.signal });
  }

  /** @returns the path of the output. */
  async #run(blobs: LocalBlobs, folder: string): Promise<string> {
    const { jobs, inputs } = this.#parts;
    const { operation, request, quick } = inputs;
    const config = auditedConfig(request.config, operation, quick);
    const context = { ...this.#parts.context, report: () => undefined };
    const record = await jobs[operation]({ ...blobs, config, blobUrl: folder, id: "audit" }, context);
    return fileURLToPath(record.output_url);
  }
}
