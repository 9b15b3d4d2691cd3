import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { checkNetworkSize } from "../../contract/config/networks.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import {
  firstBlock,
  joinAt,
  type RefitBlock,
  type RowsByBlock,
  rowsByBlock,
} from "../../panel/refit-blocks.ts";
import { targetsOf } from "../../panel/ticker-panel.ts";
import { hasScoreWindow, planWindows, type WindowPlan } from "../../panel/window-plan.ts";
import type { FitPanel } from "../shared/panels.ts";
import { forecastBlock } from "./collect-networks.ts";
import {
  dataBytes,
  type NetworkPlan,
  type NetworkSeries,
  planTicker,
  scalingOf,
  trainingSeconds,
  writeTask,
} from "./network-plan.ts";

interface NetworkTicker {
  readonly panel: FitPanel;
  readonly rows: RowsByBlock<FitPanel>;
  /** The block of its first network, and the windows of that. */
  readonly first: number;
  readonly windows: WindowPlan;
}

/**
 * Plans one network per ticker and block. A ticker with too few windows in the first block, or with constant labels, joins at the first
 * block that gives it enough. If none does, or if no ticker has enough in the first block, only these tickers fail.
 * @throws MucastError invalid_request if a network is too large for a ticker's features.
 */
export function planPerTicker(
  panels: readonly FitPanel[],
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): NetworkPlan {
  const found: NetworkTicker[] = [];
  const reasons = new Map<string, MucastError>();
  for (const panel of panels) {
    checkNetworkSize(settings, panel.columns.length);
    const { networks, reason } = firstNetwork(panel, settings, blocks);
    if (networks !== undefined) found.push(networks);
    if (reason !== undefined && panel.joins === undefined) reasons.set(panel.ticker, reason);
  }
  // Without a network of the first block there are none of later ones.
  const planned = found.some(({ first }) => first === 0) ? found : [];
  for (const { panel } of planned) reasons.delete(panel.ticker);
  return {
    tickers: planned.map(({ panel, rows, first, windows }) =>
      planTicker(panel, windows, rows(first, first)[0]!.fit.length, panel.warnings, settings),
    ),
    failures: [...reasons].map(([ticker, { code, message }]): Failure => ({ ticker, code, message })),
    series: planned.map((ticker, index) => networksOf(ticker, index, settings, blocks)),
    bytes: planned.reduce((most, { panel }) => Math.max(most, dataBytes([panel], panel.columns.length)), 0),
  };
}

/** @returns the networks from the first block with enough windows on, and why the ticker's first block has too few. */
function firstNetwork(
  panel: FitPanel,
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): { readonly networks: NetworkTicker | undefined; readonly reason: MucastError | undefined } {
  const start = firstBlock(panel, blocks);
  let reason: MucastError | undefined;
  for (let first = start; first < blocks.length; first++) {
    const own = first === start ? panel : joinAt(panel, blocks[first]!.known!);
    if (first > 0 && !hasScoreWindow(own, settings.lookback)) break;
    const rows = rowsByBlock([own], blocks, settings.window);
    try {
      const windows = planWindows(rows(first, first)[0]!, settings);
      return { networks: { panel: own, rows, first, windows }, reason };
    } catch (error) {
      if (!(error instanceof MucastError)) throw error;
      reason ??= error;
    }
  }
  return { networks: undefined, reason };
}

/** @param index of the ticker: file names never contain a ticker's name. */
function networksOf(
  { panel, rows, first }: NetworkTicker,
  index: number,
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): NetworkSeries {
  const { ticker } = panel;
  const hasNetwork = (b: number) => b > first && hasScoreWindow(rows(b, b)[0]!, settings.lookback);
  return {
    name: ticker,
    joint: false,
    begins: new Map([[ticker, first]]),
    blocks: [...blocks.keys()].filter((b) => b === first || hasNetwork(b)),
    seconds: (block) => trainingSeconds(settings, rows(block, block)[0]!.fit.length, panel.columns.length),
    write(learned, block, means) {
      const [own] = rows(learned, block) as [FitPanel];
      const { train, validate, calibrate, score } = planWindows(own, settings);
      const targets = targetsOf(own);
      const samples = {
        ends: Float64Array.from([...train, ...validate, ...calibrate, ...score]),
        labels: Float64Array.from([...train, ...validate], (row) => targets[row]!),
        parts: { train: train.length, validate: validate.length, predict: calibrate.length + score.length },
      };
      const from = { calibrate: validate.length, score: validate.length + calibrate.length };
      return {
        task: {
          ...writeTask(settings, samples, means, { name: `${index}-${learned}-${block}` }),
          ...{ task: "train_network", label: ticker, ticker, x: own.x },
          ...scalingOf(own, train, settings),
        },
        latest: [from.score + score.length - 1],
        lost: [],
        collect: (predictions) => [
          forecastBlock(
            own,
            { train, validate, calibrate, score },
            {
              validate: predictions.subarray(0, from.calibrate),
              calibrate: predictions.subarray(from.calibrate, from.score),
              score: predictions.subarray(from.score),
            },
            {
              whole: panel,
              learned,
              block,
              known: blocks[learned]!.known,
              begins: learned === first && block === first,
              warnings: panel.warnings,
            },
          ),
        ],
      };
    },
  };
}
