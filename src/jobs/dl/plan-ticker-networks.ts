import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { checkNetworkSize } from "../../contract/config/network-faults.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import { datesOf } from "../../panel/as-of.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import { planWindows, type WindowPlan } from "../../panel/window-plan.ts";
import type { PanelOnDisk } from "../shared/panel-files.ts";
import {
  type NetworkPlan,
  type PlannedNetwork,
  targetsAt,
  trainedTicker,
  trainingOf,
  writeSamples,
  zScoresOf,
} from "./planned-network.ts";

/** The networks of single tickers, planned. */
interface TickerWindows<P extends PanelRows> {
  readonly planned: readonly { readonly panel: P; readonly windows: WindowPlan }[];
  readonly failures: readonly Failure[];
}

/**
 * The windows of every ticker on its own. A ticker with too few, or with constant labels, fails alone.
 * @throws MucastError invalid_request where a network is too large for a ticker's features.
 */
export function* planTickerWindows<P extends PanelRows>(
  panels: readonly P[],
  settings: DlSettings,
): Pausable<TickerWindows<P>> {
  const { lookback, intervals } = settings;
  const planned: { readonly panel: P; readonly windows: WindowPlan }[] = [];
  const failures: Failure[] = [];
  for (const panel of panels) {
    yield 0;
    checkNetworkSize(settings, panel.columns.length);
    try {
      const windows = planWindows(panel, { lookback, calibrates: intervals !== undefined });
      planned.push({ panel, windows });
    } catch (error) {
      if (!(error instanceof MucastError)) throw error;
      failures.push({ ticker: panel.ticker, code: error.code, message: error.message });
    }
  }
  return { planned, failures };
}

/** One network a ticker. @throws MucastError as planTickerWindows does. */
export function* planTickerNetworks(
  panels: readonly PanelOnDisk[],
  settings: DlSettings,
  workFolder: string,
): Pausable<NetworkPlan> {
  const { planned, failures } = yield* planTickerWindows(panels, settings);
  const networks = planned.map(({ panel, windows }, index) =>
    tickerNetwork(panel, windows, settings, workFolder, index),
  );
  return { networks, failures };
}

function tickerNetwork(
  panel: PanelOnDisk,
  windows: WindowPlan,
  settings: DlSettings,
  workFolder: string,
  index: number,
): PlannedNetwork {
  const { train, validate, calibrate, score } = windows;
  const { ticker, x } = panel;
  return {
    name: ticker,
    joint: false,
    size: (train.length + validate.length) * panel.columns.length,
    dates: [datesOf(panel)],
    async task({ device }) {
      const parts = {
        train: train.length,
        validate: validate.length,
        predict: calibrate.length + score.length,
      };
      const ends = Float64Array.from([...train, ...validate, ...calibrate, ...score]);
      const labels = targetsAt(panel, [...train, ...validate]);
      const written = writeSamples({ ends, labels, parts }, [], workFolder, index);
      return {
        task: {
          ...trainingOf(settings),
          ...written,
          task: "train_network",
          label: ticker,
          ticker,
          device,
          x,
          ...zScoresOf(panel),
          parts,
        },
        files: [x.ref, written.ends.ref, written.labels.ref],
      };
    },
    latest: () => [validate.length + calibrate.length + score.length - 1],
    *forecasts(predictions) {
      yield 0;
      const calibrateFrom = validate.length;
      const scoreFrom = calibrateFrom + calibrate.length;
      const predicted = {
        validate: predictions.subarray(0, calibrateFrom),
        calibrate: predictions.subarray(calibrateFrom, scoreFrom),
        score: predictions.subarray(scoreFrom),
      };
      return [trainedTicker(panel, windows, predicted)];
    },
  };
}
