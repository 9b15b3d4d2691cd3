import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { formatDay } from "../../contract/market/dates.ts";
import { datesOf } from "../../panel/as-of.ts";
import type { FeatureUnion } from "../../panel/feature-union.ts";
import { type JointPlan, jointSamples, ownSamples } from "../../panel/joint-plan.ts";
import { firstBlock, type RefitBlock, type RowsByBlock } from "../../panel/refit-blocks.ts";
import { hasScoreWindow } from "../../panel/window-plan.ts";
import type { FitPanel as PanelOnDisk } from "../shared/panels.ts";
import {
  type PlannedNetwork,
  scaledFrom,
  type TrainedTicker,
  trainedTicker,
  trainingOf,
  writeSamples,
  zScoresOf,
} from "./planned-network.ts";

/** The name of a joint network; a single one is named by its ticker. */
const PORTFOLIO = "portfolio";

/** What the joint networks of all blocks share. */
export interface JointJob {
  readonly settings: DlSettings;
  readonly workFolder: string;
  readonly blocks: readonly RefitBlock[];
  /** The features of the tickers that take part in the network of a block. */
  readonly unionAt: (block: number) => FeatureUnion & { readonly tickers: readonly string[] };
  /** By ticker, the panels with all their fit rows; for a late ticker the panel with which it joins. */
  readonly wholes: ReadonlyMap<string, PanelOnDisk>;
  /** The rows of the tickers that take part. */
  readonly rows: RowsByBlock<PanelOnDisk>;
  /** @throws MucastError if no ticker has enough to learn from. */
  readonly plan: (panels: readonly PanelOnDisk[]) => JointPlan<PanelOnDisk>;
}

/** The network of all tickers that learns what is known at block `learned` and forecasts the score rows of `block`. */
export class JointNetwork implements PlannedNetwork {
  readonly joint = true;
  readonly name = PORTFOLIO;
  readonly tickers: readonly string[];
  readonly size: number;
  readonly block: number;
  readonly begins: ReadonlySet<string>;
  readonly #job: JointJob;
  readonly #learned: number;
  #plan: JointPlan<PanelOnDisk> | undefined;
  #excluded: readonly MucastError[] = [];

  constructor(job: JointJob, learned: number, block: number) {
    const { lookback } = job.settings;
    const panels = job.rows(learned, block);
    const scored = panels.filter((panel) => hasScoreWindow(panel, lookback));
    this.tickers = scored.map(({ ticker }) => ticker);
    const begin = panels.filter((panel) => firstBlock(panel, job.blocks) === block);
    this.begins = new Set(begin.map(({ ticker }) => ticker));
    this.size = panels.reduce((sum, { fit }) => sum + fit.length, 0) * job.unionAt(learned).names.length;
    this.block = block;
    this.#job = job;
    this.#learned = learned;
  }

  get isStandIn(): boolean {
    return this.#learned !== this.block;
  }

  get isFirst(): boolean {
    return this.block === 0;
  }

  get dates() {
    return this.#job.rows(0, 0).map(datesOf);
  }

  async task(means: Parameters<PlannedNetwork["task"]>[0]): ReturnType<PlannedNetwork["task"]> {
    const { device, threads } = means;
    const { settings, workFolder, unionAt, blocks } = this.#job;
    const union = unionAt(this.#learned);
    // Created when it is needed: the plans of all blocks would take too much memory.
    const plan = this.#job.plan(this.#job.rows(this.#learned, this.block));
    this.#plan = plan;
    this.#excluded = plan.excluded;
    const samples = jointSamples(plan, settings.lookback);
    const name = blocks.length === 1 ? "0" : `0-${this.#learned}-${this.block}`;
    const written = writeSamples(samples, [plan.members.length], workFolder, name);
    return {
      task: {
        ...trainingOf(settings),
        ...written,
        task: "train_joint",
        device,
        threads,
        features: union.names.length,
        parts: samples.parts,
        tickers: plan.members.map(({ panel, train }) => ({
          ticker: panel.ticker,
          x: panel.x,
          ...zScoresOf(panel),
          columns: union.columns[union.tickers.indexOf(panel.ticker)]!,
          ...scaledFrom(train, settings),
          scale_rows: train.at(-1)! + 1,
        })),
      },
      files: [written.ends.ref, written.labels.ref],
    };
  }

  latest(): readonly number[] {
    const plan = this.#plan!;
    return plan.members.map(
      (member, j) => (ownSamples(plan, member).score.at(-1) ?? 0) * plan.members.length + j,
    );
  }

  /** @param predictions shape (predicted dates, tickers), NaN if a ticker has no window. */
  forecasts(predictions: Float64Array): ReturnType<PlannedNetwork["forecasts"]> {
    const plan = this.#plan!;
    this.#plan = undefined;
    const { wholes, unionAt, blocks } = this.#job;
    const absent = Map.groupBy(unionAt(this.#learned).warnings, ({ ticker }) => ticker);
    const { known } = blocks[this.#learned]!;
    const width = plan.members.length;
    const trained: TrainedTicker[] = [];
    for (const [j, member] of plan.members.entries()) {
      const own = ownSamples(plan, member);
      const at = (samples: Int32Array) => Float64Array.from(samples, (i) => predictions[i * width + j]!);
      const { panel } = member;
      const about = [...panel.warnings, ...(absent.get(panel.ticker) ?? [])];
      const predicted = { validate: at(own.validate), calibrate: at(own.calibrate), score: at(own.score) };
      const whole = wholes.get(panel.ticker)!;
      const by = { block: this.block, isStandIn: this.isStandIn, known, whole };
      trained.push(trainedTicker(panel, member, predicted, about, by));
    }
    return trained;
  }

  excluded(): readonly MucastError[] {
    const start = formatDay(this.#job.blocks[this.#learned]!.from);
    return this.#excluded.map(
      ({ code, message, data }) =>
        new MucastError(code, `${message} (in the network of the block from ${start})`, data),
    );
  }

  standIn(block: number): PlannedNetwork {
    return new JointNetwork(this.#job, this.#learned, block);
  }
}
