import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { checkNetworkSize } from "../../contract/config/networks/networks.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { datesOf } from "../../panel/as-of.ts";
import { hasLateForecasts, hasTrainingWindows, joiningAt } from "../../panel/late-ticker.ts";
import {
  firstBlock,
  ONE_BLOCK,
  type RefitBlock,
  type RowsByBlock,
  rowsByBlock,
} from "../../panel/refit-blocks.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import { hasScoreWindow, planWindows, type WindowOptions, type WindowPlan } from "../../panel/window-plan.ts";
import type { PanelOnDisk } from "../shared/panel-files.ts";
import {
  type NetworkPlan,
  type PlannedNetwork,
  scaledFrom,
  targetsAt,
  trainedTicker,
  trainingOf,
  writeSamples,
  zScoresOf,
} from "./planned-network.ts";

/** A ticker that has its own network. */
interface PlannedTickerRows<P> {
  readonly panel: P;
  readonly rows: RowsByBlock<P>;
  /** The block of its first network: number 0 except for late tickers. */
  readonly first: number;
  /** The windows of its first network. */
  readonly windows: WindowPlan;
}

/** The planned networks of single tickers. */
interface TickerWindows<P extends PanelRows> {
  readonly planned: readonly PlannedTickerRows<P>[];
  readonly failures: readonly Failure[];
}

/**
 * The windows of every single ticker. A ticker with too few in the first block, or with constant labels, joins at the first block
 * that gives it enough. If no block does, or if no ticker has enough in the first block, only that ticker fails.
 * @param panels also those that join late.
 * @throws MucastError invalid_request if a network is too large for a ticker's features.
 */
export function planTickerWindows<P extends PanelRows>(
  panels: readonly P[],
  settings: DlSettings,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
): TickerWindows<P> {
  const planned: PlannedTickerRows<P>[] = [];
  const failures: Failure[] = [];
  for (const panel of panels) {
    checkNetworkSize(settings, panel.columns.length);
    const found = firstWindows(panel, settings, blocks);
    if (!(found instanceof MucastError)) planned.push(found);
    else if (panel.joins === undefined) {
      const { code, message } = found;
      failures.push({ ticker: panel.ticker, code, message });
    }
  }
  if (planned.some(({ first }) => first === 0)) return { planned, failures };
  // Without a network of the first block there are none of later ones.
  const early = panels.filter(({ joins }) => joins === undefined);
  return {
    planned: [],
    failures: early.map((panel) => {
      const { code, message } = windowsAt(panel, 0, settings, blocks) as MucastError;
      return { ticker: panel.ticker, code, message };
    }),
  };
}

/** The ticker's first block with enough windows, or why the first has too few; also if nothing is left to forecast from then on. */
function firstWindows<P extends PanelRows>(
  panel: P,
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): PlannedTickerRows<P> | MucastError {
  const start = firstBlock(panel, blocks);
  let error: MucastError | undefined;
  for (let block = start; block < blocks.length; block++) {
    const own = block === start ? panel : joiningAt(panel, blocks[block]!.known!);
    if (block > 0 && !hasTrainingWindows(own, settings.lookback)) continue;
    const plan = windowsAt(own, block, settings, blocks);
    if (plan instanceof MucastError) error ??= plan;
    else if (block === 0 || hasLateForecasts(own, settings.lookback))
      return { panel: own, first: block, ...plan };
    else break;
  }
  return error ?? new MucastError("insufficient_history", `${panel.ticker} has nothing to forecast`);
}

/** The windows of the network of a block, or why its rows leave too little to train on. */
function windowsAt<P extends PanelRows>(
  panel: P,
  block: number,
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): Pick<PlannedTickerRows<P>, "rows" | "windows"> | MucastError {
  const rows = rowsByBlock([panel], blocks, settings.window);
  try {
    return { rows, windows: planWindows(rows(block, block)[0]!, windowOptions(settings)) };
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
}

function windowOptions({ lookback, calibrates }: DlSettings): WindowOptions {
  return { lookback, calibrates };
}

/** One network per ticker and block. @throws MucastError like planTickerWindows. */
export function planTickerNetworks(
  panels: readonly PanelOnDisk[],
  settings: DlSettings,
  workFolder: string,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
): NetworkPlan {
  const { planned, failures } = planTickerWindows(panels, settings, blocks);
  const networks: PlannedNetwork[] = [];
  for (const [index, ticker] of planned.entries()) {
    const job = { settings, workFolder, index, blocks };
    for (let block = ticker.first; block < blocks.length; block++) {
      const network = new TickerNetwork(ticker, block, block, job);
      if (network.isFirst || network.tickers.length > 0) networks.push(network);
    }
  }
  const joined = planned.filter(({ first }) => first > 0).map(({ panel }) => panel.ticker);
  return { networks, joined, failures };
}

interface TickerJob {
  readonly settings: DlSettings;
  readonly workFolder: string;
  /** The index of the ticker within the job. */
  readonly index: number;
  readonly blocks: readonly RefitBlock[];
}

/** The network of one ticker that learns what is known at block `learned` and forecasts the score rows of `block`. */
class TickerNetwork implements PlannedNetwork {
  readonly joint = false;
  readonly name: string;
  readonly tickers: readonly string[];
  readonly size: number;
  readonly #planned: PlannedTickerRows<PanelOnDisk>;
  readonly #rows: PanelOnDisk;
  readonly #learned: number;
  readonly block: number;
  readonly #job: TickerJob;
  #windows: WindowPlan | undefined;

  constructor(planned: PlannedTickerRows<PanelOnDisk>, learned: number, block: number, job: TickerJob) {
    const { ticker, columns } = planned.panel;
    this.name = ticker;
    this.#planned = planned;
    [this.#rows] = planned.rows(learned, block) as [PanelOnDisk];
    this.#learned = learned;
    this.block = block;
    this.#job = job;
    const { fit } = this.#rows;
    this.tickers = hasScoreWindow(this.#rows, job.settings.lookback) ? [ticker] : [];
    this.size = fit.length * columns.length;
  }

  get isStandIn(): boolean {
    return this.#learned !== this.block;
  }

  get isFirst(): boolean {
    return this.block === this.#planned.first;
  }

  get begins(): ReadonlySet<string> {
    return new Set(this.isFirst ? [this.name] : []);
  }

  get dates() {
    return [datesOf(this.#planned.panel)];
  }

  /** Created when it is needed: the windows of all blocks would take too much memory. @throws MucastError like planWindows. */
  get windows(): WindowPlan {
    this.#windows ??= planWindows(this.#rows, windowOptions(this.#job.settings));
    return this.#windows;
  }

  async task({ device }: Parameters<PlannedNetwork["task"]>[0]): ReturnType<PlannedNetwork["task"]> {
    const { settings, workFolder, index, blocks } = this.#job;
    const { train, validate, calibrate, score } = this.windows;
    const { ticker, x } = this.#rows;
    const parts = {
      train: train.length,
      validate: validate.length,
      predict: calibrate.length + score.length,
    };
    const ends = Float64Array.from([...train, ...validate, ...calibrate, ...score]);
    const labels = targetsAt(this.#rows, [...train, ...validate]);
    const name = blocks.length === 1 ? `${index}` : `${index}-${this.#learned}-${this.block}`;
    const written = writeSamples({ ends, labels, parts }, [], workFolder, name);
    return {
      task: {
        ...trainingOf(settings),
        ...written,
        task: "train_network",
        label: ticker,
        ticker,
        device,
        x,
        ...zScoresOf(this.#rows),
        ...scaledFrom(train, settings),
        parts,
      },
      // The networks of other blocks read the features, too.
      files: [...(blocks.length === 1 ? [x.ref] : []), written.ends.ref, written.labels.ref],
    };
  }

  latest(): readonly number[] {
    const { validate, calibrate, score } = this.windows;
    return [validate.length + calibrate.length + score.length - 1];
  }

  forecasts(predictions: Float64Array): ReturnType<PlannedNetwork["forecasts"]> {
    const { windows } = this;
    const calibrateFrom = windows.validate.length;
    const scoreFrom = calibrateFrom + windows.calibrate.length;
    const predicted = {
      validate: predictions.subarray(0, calibrateFrom),
      calibrate: predictions.subarray(calibrateFrom, scoreFrom),
      score: predictions.subarray(scoreFrom),
    };
    this.#windows = undefined;
    const { panel } = this.#planned;
    const { known } = this.#job.blocks[this.#learned]!;
    const by = { block: this.block, isStandIn: this.isStandIn, known, whole: panel };
    return [trainedTicker(this.#rows, windows, predicted, panel.warnings, by)];
  }

  excluded(): readonly MucastError[] {
    return [];
  }

  standIn(block: number): PlannedNetwork {
    return new TickerNetwork(this.#planned, this.#learned, block, this.#job);
  }
}
