import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { checkNetworkSize } from "../../contract/config/networks/network-faults.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { datesOf } from "../../panel/as-of.ts";
import {
  hasLateForecasts,
  hasTrainingWindows,
  joiningDates,
  type LateCandidate,
  type LateSource,
  lateCandidate,
  noLateTickers,
} from "../../panel/late-network.ts";
import type { PlanRows } from "../../panel/late-ticker.ts";
import { ONE_BLOCK, type RefitBlock, type RowsByBlock, rowsByBlock } from "../../panel/refit-blocks.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import { hasScoreWindow, planWindows, type WindowOptions, type WindowPlan } from "../../panel/window-plan.ts";
import { failuresWithout } from "../shared/late-tickers.ts";
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
 * @throws MucastError invalid_request if a network is too large for a ticker's features.
 */
export function planTickerWindows<P extends PanelRows>(
  panels: readonly P[],
  settings: DlSettings,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
  late: LateSource<P> = noLateTickers(),
): TickerWindows<P> {
  const planned: PlannedTickerRows<P>[] = [];
  const short: MucastError[] = [];
  const candidates = late.candidates();
  for (const panel of panels) {
    checkNetworkSize(settings, panel.columns.length);
    const plan = windowsAt(panel, 0, settings, blocks);
    if (!(plan instanceof MucastError)) planned.push({ panel, first: 0, ...plan });
    else {
      short.push(plan);
      candidates.push(lateCandidate(panel));
    }
  }
  const joined = planned.length === 0 ? [] : joinTickers(candidates, settings, blocks);
  const failures = short.map(({ code, message, data }) => ({ ticker: data.ticker!, code, message }));
  return {
    planned: [...planned, ...joined],
    failures: failuresWithout(
      joined.map(({ panel }) => panel),
      failures,
    ),
  };
}

/** The tickers that join, each at its first block with enough windows; except those that have nothing to forecast from then on. */
function joinTickers<P extends PanelRows>(
  candidates: readonly LateCandidate<P>[],
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): PlannedTickerRows<P>[] {
  const joined: PlannedTickerRows<P>[] = [];
  for (const candidate of candidates) {
    for (const { block, known } of joiningDates(blocks)) {
      const shown = candidate.rowsAt(known);
      if (shown === undefined || !hasTrainingWindows(shown, settings.lookback)) continue;
      if (windowsAt(shown, block, settings, blocks) instanceof MucastError) continue;
      if (hasLateForecasts(shown, settings.lookback)) {
        checkNetworkSize(settings, shown.columns.length);
        const panel = candidate.join(known);
        const plan = windowsAt(panel, block, settings, blocks);
        if (!(plan instanceof MucastError)) joined.push({ panel, first: block, ...plan });
      }
      break;
    }
  }
  return joined;
}

/** The windows of the network of a block, or why its rows leave too little to train on. */
function windowsAt<P extends PlanRows>(
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
  late: LateSource<PanelOnDisk> = noLateTickers(),
): NetworkPlan {
  const { planned, failures } = planTickerWindows(panels, settings, blocks, late);
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
