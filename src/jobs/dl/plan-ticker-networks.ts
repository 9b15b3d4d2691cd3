import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { checkNetworkSize } from "../../contract/config/network-faults.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import { datesOf } from "../../panel/as-of.ts";
import { ONE_BLOCK, type RefitBlock } from "../../panel/refit-blocks.ts";
import { type RowsByBlock, rowsByBlock } from "../../panel/rows-by-block.ts";
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

/** A ticker that has a network of its own. */
interface PlannedTickerRows<P> {
  readonly panel: P;
  readonly rows: RowsByBlock<P>;
  /** Of the first block. */
  readonly windows: WindowPlan;
}

/** The networks of single tickers, planned. */
interface TickerWindows<P extends PanelRows> {
  readonly planned: readonly PlannedTickerRows<P>[];
  readonly failures: readonly Failure[];
}

/**
 * The windows of every ticker on its own. A ticker with too few in the first block, or with constant labels, fails alone.
 * @throws MucastError invalid_request where a network is too large for a ticker's features.
 */
export function* planTickerWindows<P extends PanelRows>(
  panels: readonly P[],
  settings: DlSettings,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
): Pausable<TickerWindows<P>> {
  const planned: PlannedTickerRows<P>[] = [];
  const failures: Failure[] = [];
  for (const panel of panels) {
    yield 0;
    checkNetworkSize(settings, panel.columns.length);
    try {
      const rows = rowsByBlock([panel], blocks, settings.window);
      planned.push({ panel, rows, windows: planWindows(rows(0, 0)[0]!, windowOptions(settings)) });
    } catch (error) {
      if (!(error instanceof MucastError)) throw error;
      failures.push({ ticker: panel.ticker, code: error.code, message: error.message });
    }
  }
  return { planned, failures };
}

function windowOptions({ lookback, intervals }: DlSettings): WindowOptions {
  return { lookback, calibrates: intervals !== undefined };
}

/** One network a ticker and block. @throws MucastError as planTickerWindows does. */
export function* planTickerNetworks(
  panels: readonly PanelOnDisk[],
  settings: DlSettings,
  workFolder: string,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
): Pausable<NetworkPlan> {
  const { planned, failures } = yield* planTickerWindows(panels, settings, blocks);
  const networks: PlannedNetwork[] = [];
  for (const [index, ticker] of planned.entries()) {
    yield 0;
    const job = { settings, workFolder, index, blocks };
    const own = blocks.map((_, block) => new TickerNetwork(ticker, block, block, job));
    networks.push(...own.filter(({ block, tickers }) => block === 0 || tickers.length > 0));
  }
  return { networks, failures };
}

interface TickerJob {
  readonly settings: DlSettings;
  readonly workFolder: string;
  /** The number of the ticker within the job. */
  readonly index: number;
  readonly blocks: readonly RefitBlock[];
}

/** The network of one ticker that learns what is known at block `learned`, for the score rows of `block`. */
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

  get dates() {
    return [datesOf(this.#planned.panel)];
  }

  /** Made when it is needed: the windows of all blocks would take too much memory. @throws MucastError as planWindows does. */
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

  *forecasts(predictions: Float64Array): ReturnType<PlannedNetwork["forecasts"]> {
    yield 0;
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
