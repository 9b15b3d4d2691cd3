import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { checkNetworkSize } from "../../contract/config/network-faults.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { inTurns, type Pausable } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import { datesOf } from "../../panel/as-of.ts";
import { type FeatureUnion, uniteFeatures } from "../../panel/feature-union.ts";
import { type JointPlan, planJoint } from "../../panel/joint-plan.ts";
import { jointSamples, ownSamples } from "../../panel/joint-samples.ts";
import { MIN_DATE_TICKERS } from "../../panel/relative-target.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import type { PanelOnDisk } from "../shared/panel-files.ts";
import {
  type NetworkPlan,
  type PlannedNetwork,
  type TrainedTicker,
  trainedTicker,
  trainingOf,
  writeSamples,
  zScoresOf,
} from "./planned-network.ts";

/** The name of a joint network; a single one is named by its ticker. */
const PORTFOLIO = "portfolio";

/** A joint network, planned. */
interface JointWindows<P extends PanelRows> {
  readonly plan: JointPlan<P>;
  readonly union: FeatureUnion;
  readonly failures: readonly Failure[];
}

/**
 * Which tickers take part in a joint network, on which dates, and with which features.
 * @throws MucastError invalid_request where the network is too large for the features of all; insufficient_history where early stopping
 *   watches the IC and no validation date has enough labels for one.
 */
export function* planJointWindows<P extends PanelRows>(
  panels: readonly P[],
  settings: DlSettings,
): Pausable<JointWindows<P>> {
  const { lookback, intervals } = settings;
  const plan = yield* planJoint(panels, { lookback, calibrates: intervals !== undefined });
  const union = uniteFeatures(plan.members.map((member) => member.panel));
  const { length } = plan.members;
  if (length > 0) {
    checkNetworkSize(settings, union.names.length, length);
    if (settings.training.monitor === "ic") requireComparable(plan);
  }
  return { plan, union, failures: plan.excluded.map(failureOf) };
}

function requireComparable({ members }: JointPlan<PanelRows>): void {
  const counts = new Map<Day, number>();
  for (const { panel, validate } of members) {
    for (const row of validate) counts.set(panel.days[row]!, (counts.get(panel.days[row]!) ?? 0) + 1);
  }
  const most = counts.values().reduce((a, b) => Math.max(a, b), 0);
  if (most >= MIN_DATE_TICKERS) return;
  throw new MucastError(
    "insufficient_history",
    `training_params.monitor is ic, which compares the tickers of a date, and no validation date has more than ${counted(most, "ticker")} ` +
      `with a label, at least ${MIN_DATE_TICKERS} are needed: set monitor to loss, or add tickers`,
  );
}

/** One network for all tickers that can take part; none where no ticker can. @throws MucastError as planJointWindows does. */
export function* planJointNetwork(
  panels: readonly PanelOnDisk[],
  settings: DlSettings,
  workFolder: string,
): Pausable<NetworkPlan> {
  const { plan, union, failures } = yield* planJointWindows(panels, settings);
  const networks = plan.members.length > 0 ? [jointNetwork(plan, union, settings, workFolder)] : [];
  return { networks, failures };
}

function failureOf({ code, message, data }: MucastError): Failure {
  return { ticker: data.ticker!, code, message };
}

function jointNetwork(
  plan: JointPlan<PanelOnDisk>,
  union: FeatureUnion,
  settings: DlSettings,
  workFolder: string,
): PlannedNetwork {
  return {
    name: PORTFOLIO,
    joint: true,
    size: plan.members.length * plan.dates.train.length * union.names.length,
    dates: plan.members.map(({ panel }) => datesOf(panel)),
    async task({ device, threads, signal }) {
      const samples = await inTurns(jointSamples(plan, settings.lookback), signal);
      const written = writeSamples(samples, [plan.members.length], workFolder, 0);
      return {
        task: {
          ...trainingOf(settings),
          ...written,
          task: "train_joint",
          device,
          threads,
          features: union.names.length,
          parts: samples.parts,
          tickers: plan.members.map(({ panel, train }, j) => ({
            ticker: panel.ticker,
            x: panel.x,
            ...zScoresOf(panel),
            columns: union.columns[j]!,
            scale_rows: train.at(-1)! + 1,
          })),
        },
        files: [...plan.members.map(({ panel }) => panel.x.ref), written.ends.ref, written.labels.ref],
      };
    },
    latest: () =>
      plan.members.map((member, j) => ownSamples(plan, member).score.at(-1)! * plan.members.length + j),
    forecasts: (predictions) => memberForecasts(plan, union, predictions),
  };
}

/** @param predictions shape (predicted dates, tickers), NaN where a ticker has no window. */
function* memberForecasts(
  plan: JointPlan<PanelOnDisk>,
  union: FeatureUnion,
  predictions: Float64Array,
): Pausable<TrainedTicker[]> {
  const width = plan.members.length;
  const absent = Map.groupBy(union.warnings, (warning) => warning.ticker);
  const trained: TrainedTicker[] = [];
  for (const [j, member] of plan.members.entries()) {
    yield 0;
    const own = ownSamples(plan, member);
    const at = (samples: Int32Array) => Float64Array.from(samples, (i) => predictions[i * width + j]!);
    const { panel } = member;
    const warnings = [...panel.warnings, ...(absent.get(panel.ticker) ?? [])];
    const predicted = { validate: at(own.validate), calibrate: at(own.calibrate), score: at(own.score) };
    trained.push(trainedTicker(panel, member, predicted, warnings));
  }
  return trained;
}
