import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { checkNetworkSize } from "../../contract/config/networks.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { type FeatureUnion, uniteFeatures } from "../../panel/feature-union.ts";
import { type JointMember, jointSamples, ownSamples, planJoint } from "../../panel/joint-plan.ts";
import {
  firstBlock,
  joinAt,
  type RefitBlock,
  type RowsByBlock,
  rowsByBlock,
} from "../../panel/refit-blocks.ts";
import { MIN_DATE_TICKERS } from "../../panel/relative-target.ts";
import { hasScoreWindow } from "../../panel/window-plan.ts";
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

const PORTFOLIO = "portfolio";

/**
 * Plans one network per block for all tickers that can take part: those whose rows are enough by the block's first date. A ticker that cannot
 * at first joins at the first block that it can. If no ticker can take part at first, there is no network.
 * @throws MucastError invalid_request if a network is too large for the features of all; insufficient_history if early stopping
 *   monitors the IC and no validation date has enough labels for one.
 */
export function planJointNetworks(
  panels: readonly FitPanel[],
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): NetworkPlan {
  const { window, lookback } = settings;
  const participants: { readonly panel: FitPanel; readonly member: JointMember<FitPanel> }[] = [];
  let excluded: readonly MucastError[] = [];
  for (const [b, { known }] of blocks.entries()) {
    const taking = participants.map(({ panel }) => panel);
    const joining = panels
      .filter(({ ticker, joins }) => {
        const isListed = known === undefined ? joins === undefined : (joins ?? known) <= known;
        return isListed && taking.every((panel) => panel.ticker !== ticker);
      })
      .map((panel) => (known === undefined ? panel : joinAt(panel, known)));
    const plan = planJoint(rowsByBlock([...taking, ...joining], blocks, window)(b, b), settings);
    if (b === 0) ({ excluded } = plan);
    for (const panel of joining) {
      const member = plan.members.find((one) => one.panel.ticker === panel.ticker);
      if (member !== undefined) participants.push({ panel, member });
    }
    if (participants.length === 0) break;
    if (b === 0) requireComparable(plan.members, settings);
  }
  const taking = participants.map(({ panel }) => panel);
  const unions = uniteByBlock(taking, blocks);
  for (const { names, columns } of unions) checkNetworkSize(settings, names.length, columns.size);
  // A late ticker without a window to forecast from is learned from like any other, and not reported.
  const reported = participants.filter(
    ({ panel }) => panel.joins === undefined || hasScoreWindow(panel, lookback),
  );
  const found = new Set(reported.map(({ panel: { ticker } }) => ticker));
  return {
    tickers: reported.map(({ panel, member }) => {
      const { warnings } = unions.findLast(({ block }) => block <= firstBlock(panel, blocks))!;
      const about = [...panel.warnings, ...warnings.filter(({ ticker }) => ticker === panel.ticker)];
      return planTicker(panel, member, member.panel.fit.length, about, settings);
    }),
    failures: excluded.flatMap(({ code, message, data: { ticker } }): Failure[] =>
      found.has(ticker!) ? [] : [{ ticker: ticker!, code, message }],
    ),
    series: taking.length === 0 ? [] : [seriesOf(taking, found, unions, settings, blocks)],
    bytes: dataBytes(taking, unions.at(-1)?.names.length ?? 0),
  };
}

/** The features of the tickers that take part from a block on. */
interface BlockUnion extends Omit<FeatureUnion, "columns"> {
  readonly block: number;
  readonly columns: ReadonlyMap<string, readonly number[]>;
}

function uniteByBlock(panels: readonly FitPanel[], blocks: readonly RefitBlock[]): BlockUnion[] {
  const starts = new Set(panels.map((panel) => firstBlock(panel, blocks)));
  return [...starts]
    .sort((a, b) => a - b)
    .map((block) => {
      const present = panels.filter((panel) => firstBlock(panel, blocks) <= block);
      const union = uniteFeatures(present.map(({ ticker, columns }) => ({ ticker, columns })));
      return {
        ...union,
        block,
        columns: new Map(present.map(({ ticker }, i) => [ticker, union.columns[i]!])),
      };
    });
}

function requireComparable(members: readonly JointMember[], { training }: DlSettings): void {
  if (training.monitor !== "ic") return;
  const counts = new Map<Day, number>();
  for (const { panel, validate } of members) {
    for (const row of validate) counts.set(panel.days[row]!, (counts.get(panel.days[row]!) ?? 0) + 1);
  }
  const most = counts.values().reduce((a, b) => Math.max(a, b), 0);
  if (most >= MIN_DATE_TICKERS) return;
  throw new MucastError(
    "insufficient_history",
    `training_params.monitor is ic, which compares the tickers of a date, and no validation date has more than ${counted(most, "ticker")} ` +
      `with a label, at least ${MIN_DATE_TICKERS} are needed`,
    { advice: "Set `monitor` to loss, or add tickers." },
  );
}

/** @param panels of the tickers that take part, each from its first block on. */
function seriesOf(
  panels: readonly FitPanel[],
  reported: ReadonlySet<string>,
  unions: readonly BlockUnion[],
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): NetworkSeries {
  const { lookback } = settings;
  const starts = new Map(panels.map((panel) => [panel.ticker, firstBlock(panel, blocks)]));
  const wholes = new Map(panels.map((panel) => [panel.ticker, panel]));
  const begins = new Map([...starts].filter(([ticker]) => reported.has(ticker)));
  const all = rowsByBlock(panels, blocks, settings.window);
  const rows: RowsByBlock<FitPanel> = (learned, scored) =>
    all(learned, scored).filter(({ ticker }) => starts.get(ticker)! <= learned);
  const unionAt = (block: number) => unions.findLast((union) => union.block <= block)!;
  return {
    name: PORTFOLIO,
    joint: true,
    begins,
    blocks: [...blocks.keys()].filter(
      (b) =>
        begins.values().some((block) => block === b) ||
        rows(b, b).some((own) => hasScoreWindow(own, lookback)),
    ),
    seconds(block) {
      const fitRows = rows(block, block).reduce((sum, { fit }) => sum + fit.length, 0);
      return trainingSeconds(settings, fitRows, unionAt(block).names.length);
    },
    write(learned, block, means) {
      const union = unionAt(learned);
      const absent = Map.groupBy(union.warnings, ({ ticker }) => ticker);
      const taking = rows(learned, block);
      const plan = planJoint(taking, settings);
      const { members } = plan;
      if (members.length === 0) throw plan.excluded[0]!;
      requireComparable(members, settings);
      const width = members.length;
      const own = members.map((member) => ownSamples(plan, member));
      const { from, known } = blocks[learned]!;
      const where = `in the network of the block from ${formatDay(from)}`;
      const isDue = (panel: FitPanel) =>
        begins.get(panel.ticker) === block || hasScoreWindow(panel, lookback);
      const due = new Set(taking.filter(isDue).map(({ ticker }) => ticker));
      return {
        task: {
          ...writeTask(settings, jointSamples(plan, lookback), means, {
            name: `${learned}-${block}`,
            width: [width],
          }),
          ...{ task: "train_joint", threads: means.threads, features: union.names.length },
          tickers: members.map(({ panel: { ticker, x, ...panel }, train }) => ({
            ...{ ticker, x, columns: union.columns.get(ticker)!, scale_rows: train.at(-1)! + 1 },
            ...scalingOf(panel, train, settings),
          })),
        },
        latest: own.map(({ score }, j) => (score.at(-1) ?? 0) * width + j),
        lost: plan.excluded
          .filter(({ data }) => due.has(data.ticker!))
          .map(({ code, message, data }) => new MucastError(code, `${message} (${where})`, data)),
        /** @param predictions shape (predicted dates, tickers), NaN if a ticker has no window. */
        collect: (predictions) =>
          members.map((member, j) => {
            const { ticker, warnings } = member.panel;
            const at = (samples: Int32Array) =>
              Float64Array.from(samples, (i) => predictions[i * width + j]!);
            const { validate, calibrate, score } = own[j]!;
            const predicted = { validate: at(validate), calibrate: at(calibrate), score: at(score) };
            return forecastBlock(member.panel, member, predicted, {
              ...{ whole: wholes.get(ticker)!, learned, block, known },
              begins: learned === block && begins.get(ticker) === block,
              warnings: [...warnings, ...(absent.get(ticker) ?? [])],
            });
          }),
      };
    },
  };
}
