import { fileURLToPath } from "node:url";
import type { Operation } from "../contract/config/job-operations.ts";
import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { boundedCopy } from "../contract/json/bounded-json.ts";
import {
  type InputChange,
  REPLAY_REASONS,
  REPLAY_SCHEMA_NAME,
  type ReplayBlob,
  type ReplayReason,
} from "../contract/output/replay-blob.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { runDlJob } from "../jobs/dl/run-dl-job.ts";
import { runMlJob } from "../jobs/ml/run-ml-job.ts";
import type { JobContext, JobRequest } from "../jobs/shared/job.ts";
import { openWorkFolder } from "../jobs/shared/work-folder.ts";
import { changedMachine, changedVersions } from "./changed-facts.ts";
import { compareDocuments, comparedText } from "./compare-documents.ts";
import { Differences } from "./differences.ts";
import { type FoundInput, findInput, type Reading, shownName } from "./find-inputs.ts";
import { type InputKind, inputChange } from "./input-change.ts";
import { JsonFile } from "./json-file.ts";
import { likelyReason, reasonOf } from "./likely-reason.ts";
import { nothingLacks, olderLacks } from "./may-lack.ts";
import { replayConfig } from "./recorded-config.ts";
import { openRecorded, type RecordedFacts, type RecordedOutput, readFacts } from "./recorded-output.ts";

/** What a caller asks to be replayed. */
export interface ReplayRequest {
  /** Names the verdict. */
  readonly id: string;
  /** The output: a path, a file: URL or an https URL. */
  readonly outputUrl: string;
  /** In place of the recorded inputs. */
  readonly featureUrl?: string | undefined;
  readonly dataExtractorUrl?: string | undefined;
  /** JSON text of the config, of an output that does not record it. */
  readonly config?: string | undefined;
  /** BLOB_URL, perhaps with its SAS; for blobs in that container. */
  readonly blobUrl?: string | undefined;
}

const JOBS: Readonly<Record<Operation, (request: JobRequest, context: JobContext) => Promise<ResultRecord>>> =
  {
    run_ml_job: runMlJob,
    run_dl_job: runDlJob,
  };

/**
 * Runs the job of an output once more, in a folder of its own that is removed afterwards, and compares the new document with
 * the recorded one. Blobs of other digests are not run.
 *
 * @returns the verdict, also where the output differs or cannot be replayed.
 * @throws MucastError where the output cannot be read, or where the machine or the engine is at fault; canceled.
 */
export async function replayOutput(request: ReplayRequest, context: JobContext): Promise<ReplayBlob> {
  const work = openWorkFolder();
  try {
    const reading = { ...context, blobUrl: request.blobUrl };
    const recorded = await openRecorded(request.outputUrl, reading, work.path);
    try {
      return await new Replay(request, context, recorded, work.path).verdict();
    } finally {
      await recorded.file.close();
    }
  } finally {
    work.remove();
  }
}

type Inputs = Readonly<Record<InputKind, FoundInput>>;

/** Codes with which a job ends that this version, or this machine, does not run. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "invalid_request",
  "unknown_model",
  "invalid_model_params",
  "too_large",
  "unreadable_blob",
  "invalid_data",
  "insufficient_history",
  "sparse_prices",
  "all_failed",
  "no_forecast",
  "fit_failed",
  "device_unavailable",
  "diverged",
  "constant_target",
]);

const SHOWN = { bytes: 400, text: 200 };
const PROBLEM_TEXT = 2_000;

class Replay {
  readonly #request: ReplayRequest;
  readonly #context: JobContext;
  readonly #recorded: RecordedOutput;
  readonly #folder: string;
  readonly #reading: Reading;

  constructor(request: ReplayRequest, context: JobContext, recorded: RecordedOutput, folder: string) {
    this.#request = request;
    this.#context = context;
    this.#recorded = recorded;
    this.#folder = folder;
    this.#reading = { ...context, blobUrl: request.blobUrl };
  }

  async verdict(): Promise<ReplayBlob> {
    const { facts, schema } = this.#recorded;
    if (facts === undefined) {
      const shown = JSON.stringify(boundedCopy(schema ?? null, SHOWN) ?? null);
      return this.#ended("another_schema", `its schema is ${shown}, or its provenance names no inputs`);
    }
    const inputs = await this.#inputs(facts);
    const found = Object.values(inputs);
    const shown = { inputs: { feature: inputs.feature.shown, data_extractor: inputs.data_extractor.shown } };
    const gone = found.filter(({ location }) => location === undefined);
    if (gone.length > 0) {
      const names = gone.map((input) => input.shown.url).join(" and ");
      return this.#ended("inputs_gone", `nothing can be read of ${names}`, shown);
    }
    if (found.some(({ isRecorded }) => !isRecorded)) return this.#otherInputs(inputs);
    const config = replayConfig(facts, this.#request.config);
    if ("reason" in config) {
      const { config_sha256 } = facts.provenance;
      return this.#ended(config.reason, `the job's config had the SHA-256 ${config_sha256}`, shown);
    }
    return this.#run(facts, config.text, inputs, shown);
  }

  async #inputs({ provenance }: RecordedFacts): Promise<Inputs> {
    const output = this.#request.outputUrl;
    const { featureUrl, dataExtractorUrl } = this.#request;
    const feature = {
      url: provenance.feature_url,
      sha256: provenance.feature_sha256,
      given: featureUrl,
      output,
    };
    const prices = {
      url: provenance.data_extractor_url,
      sha256: provenance.data_extractor_sha256,
      given: dataExtractorUrl,
      output,
    };
    return {
      feature: await findInput(feature, this.#reading),
      data_extractor: await findInput(prices, this.#reading),
    };
  }

  /** The verdict where a blob has another digest: nothing is run. */
  async #otherInputs(inputs: Inputs): Promise<ReplayBlob> {
    const shown = {
      feature: await this.#withChange("feature", inputs.feature),
      data_extractor: await this.#withChange("data_extractor", inputs.data_extractor),
    };
    const changed = Object.values(inputs).filter(({ isRecorded }) => !isRecorded);
    const words = changed.map((input) => {
      const { url, sha256, found } = input.shown;
      return `${url} had the SHA-256 ${sha256}, and ${found!.url} has ${found!.sha256}`;
    });
    return this.#ended("inputs", words.join("; "), { inputs: shown });
  }

  async #withChange(kind: InputKind, { isRecorded, original, location, shown }: FoundInput) {
    if (isRecorded || original === undefined) return shown;
    const change = await this.#changeOf(kind, original, location!);
    return change === undefined ? shown : { ...shown, change };
  }

  /** Undefined where one of them is no blob of its kind. */
  async #changeOf(kind: InputKind, original: string, location: string): Promise<InputChange | undefined> {
    try {
      return await inputChange(kind, original, location, this.#reading, this.#folder);
    } catch (error) {
      if (error instanceof MucastError && REFUSALS.has(error.code)) return undefined;
      throw error;
    }
  }

  async #run(
    facts: RecordedFacts,
    config: string,
    inputs: Inputs,
    shown: Pick<ReplayBlob, "inputs">,
  ): Promise<ReplayBlob> {
    const { provenance, operation } = facts;
    const job: JobRequest = {
      id: "replay",
      config,
      featureUrl: inputs.feature.location!,
      dataExtractorUrl: inputs.data_extractor.location!,
      blobUrl: this.#folder,
      recorded: {
        featureUrl: provenance.feature_url,
        dataExtractorUrl: provenance.data_extractor_url,
        configSha256: provenance.config_sha256,
        blobUrl: this.#request.blobUrl,
      },
    };
    const isPinned = typeof provenance.kernel_level === "string";
    let record: ResultRecord;
    try {
      record = await JOBS[operation](job, this.#quiet(isPinned));
    } catch (error) {
      if (!(error instanceof MucastError && REFUSALS.has(error.code))) throw error;
      const problem = { code: error.code, detail: error.message.slice(0, PROBLEM_TEXT) };
      return this.#ended("job_refused", `the job ended with ${error.code}`, { ...shown, problem });
    }
    const replayed = await JsonFile.open(fileURLToPath(record.output_url), "the replayed output");
    try {
      return await this.#compared(facts, replayed, shown);
    } finally {
      await replayed.close();
    }
  }

  /**
   * The warnings of the new run are in its document, which is compared; here they are no news.
   * @param isPinned whether the recorded job had its kernels pinned.
   */
  #quiet(isPinned: boolean): JobContext {
    const { report, portable } = this.#context;
    return {
      ...this.#context,
      portable: portable ?? isPinned,
      report: (event) => {
        if (event.kind === "progress") report(event);
      },
    };
  }

  async #compared(
    facts: RecordedFacts,
    replayed: JsonFile,
    shown: Pick<ReplayBlob, "inputs">,
  ): Promise<ReplayBlob> {
    const { file } = this.#recorded;
    const after = await readFacts(replayed);
    const versions = changedVersions(facts.provenance, after.provenance);
    const machine = changedMachine(facts, after);
    const isOlder = facts.provenance.config === undefined || versions.some(({ name }) => name === "mucast");
    const differences = new Differences();
    const [before, now] = [await comparedText(file), await comparedText(replayed)];
    if (before.sha256 !== now.sha256) {
      await compareDocuments(file, replayed, differences, isOlder ? olderLacks : nothingLacks);
      // The members are equal, and stand in another order.
      if (differences.total === 0) differences.other([], "members in this order", "members in another order");
    }
    const summary = differences.summary();
    const lacks = differences.lacks;
    const found = { versions, machine, lacks, differences: summary };
    const reason =
      summary === undefined ? undefined : likelyReason({ ...found, device: facts.provenance.device });
    return this.#document({
      verdict: reason === undefined ? "identical" : REPLAY_REASONS[reason.code].verdict,
      reason,
      compared: { sha256: before.sha256, replayed_sha256: now.sha256, numbers: before.numbers },
      ...found,
      ...shown,
    });
  }

  #ended(code: ReplayReason, message: string, more: Partial<ReplayBlob> = {}): ReplayBlob {
    return this.#document({
      verdict: REPLAY_REASONS[code].verdict,
      reason: reasonOf(code, message),
      ...more,
    });
  }

  /** The verdict's document, members in the order of its schema. */
  #document(parts: Partial<ReplayBlob> & Pick<ReplayBlob, "verdict">): ReplayBlob {
    const { name, sha256, id, createdAt, facts } = this.#recorded;
    const { verdict, reason, compared, differences, inputs, problem } = parts;
    return {
      schema: REPLAY_SCHEMA_NAME,
      id: this.#request.id,
      verdict,
      ...(reason === undefined ? {} : { reason }),
      output: {
        url: shownName(name),
        sha256,
        operation: facts?.operation ?? null,
        id: shownText(id),
        created_at: shownText(createdAt),
      },
      ...(compared === undefined ? {} : { compared }),
      ...(differences === undefined ? {} : { differences }),
      lacks: parts.lacks ?? [],
      ...(inputs === undefined ? {} : { inputs }),
      versions: parts.versions ?? [],
      machine: parts.machine ?? [],
      ...(problem === undefined ? {} : { problem }),
    };
  }
}

function shownText(value: unknown): string | null {
  return typeof value === "string" ? value.slice(0, SHOWN.text) : null;
}
