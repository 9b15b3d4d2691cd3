import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { byTicker } from "../../outputs/scored-rows.ts";
import { countedRows, figure, wholePercent } from "../../view/figures.ts";
import { lineChart } from "../charts/line-chart.ts";
import { escapeText } from "../charts/plot.ts";
import type { ScaledChart } from "../charts/scale.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import { keyLine, numbersTable, type Panel } from "../panels/panel.ts";
import type { Part } from "../panels/section.ts";
import { courseFan, quantileOf } from "../statistics/course-fan.ts";

/** The networks of an output, and how many of them learned something that generalises. */
interface Training {
  readonly networks: readonly TrainedNetwork[];
  readonly finding: string;
}

/** The losses of one network by epoch. */
interface Course {
  readonly validationLoss: Float64Array;
  /** The IC of the validation dates by epoch, if early stopping monitored it. */
  readonly validationIc: Float64Array | undefined;
  /** Counted from 1. */
  readonly bestEpoch: number;
  /** The validation loss of the zero forecast, if the blob has it. */
  readonly zeroLoss: number | undefined;
}

interface TrainedNetwork extends Course {
  /** A ticker, or `portfolio`. */
  readonly name: string;
  readonly trainLoss: Float64Array;
  readonly parameters: number;
  /** For an ensemble, its networks from member 1 on. */
  readonly members: readonly Course[];
  readonly finding: string;
}

/** How the networks learned. */
export function trainingOf({ document }: OutputEvidence): Part<Training> {
  if (document.training === undefined)
    return { absent: "The output is not from networks, so it has no training curves." };
  const networks = byTicker(document.training).map(([name, network]): TrainedNetwork => {
    const { epochs, members = [], parameters } = network;
    const own = courseOf(network);
    return {
      name,
      ...own,
      trainLoss: Float64Array.from(epochs, ({ train_loss }) => train_loss),
      parameters,
      members: members.map(courseOf),
      finding: `${nameOf(name, members.length)}: ${bestOf(own)}.${otherMembers(members.map(courseOf))}${overBlocks(name, document)}`,
    };
  });
  if (networks.length === 0) return { absent: "No network was trained." };
  return { data: { networks, finding: findingOf(networks) } };
}

type RecordedCourse = Pick<
  NonNullable<OutputBlob["training"]>[string],
  "epochs" | "best_epoch" | "zero_validation_loss"
>;

function courseOf({ epochs, best_epoch, zero_validation_loss }: RecordedCourse): Course {
  return {
    validationLoss: Float64Array.from(epochs, ({ validation_loss }) => validation_loss),
    validationIc: validationIcs(epochs),
    bestEpoch: best_epoch,
    zeroLoss: zero_validation_loss,
  };
}

function validationIcs(epochs: RecordedCourse["epochs"]): Float64Array | undefined {
  const ics = epochs.flatMap(({ validation_ic }) => (validation_ic === undefined ? [] : [validation_ic]));
  return ics.length === 0 ? undefined : Float64Array.from(ics);
}

function nameOf(name: string, others: number): string {
  return others === 0 ? name : `${name}, member 0 of ${figure(others + 1, "count")}`;
}

function bestOf({ validationLoss, validationIc, bestEpoch, zeroLoss }: Course): string {
  const best = validationLoss[bestEpoch - 1];
  const ic =
    validationIc === undefined ? "" : `a validation IC of ${figure(validationIc[bestEpoch - 1], "ic")} and `;
  const of = countedRows(validationLoss.length, "epoch");
  return `epoch ${bestEpoch} was the best of ${of}, with ${ic}a validation loss of ${figure(best, "number")}${comparedWithZero(best, zeroLoss)}`;
}

/** The best epochs of the other members. */
function otherMembers(members: readonly Course[]): string {
  if (members.length === 0) return "";
  return ` Best epochs of the other members: ${epochsOf(members)}.`;
}

/** The networks of all blocks, for an ensemble the means of its members; empty without refits and in outputs that do not record them. */
function overBlocks(name: string, { refits }: Pick<OutputBlob, "refits">): string {
  const training = refits?.training;
  const own = training !== undefined && Object.hasOwn(training, name) ? training[name] : undefined;
  if (own === undefined) return "";
  const best = own.best_epochs.filter((epoch) => epoch !== null);
  if (best.length < 2) return "";
  const below = own.validation_losses.filter(
    (loss, b) => loss !== null && loss < own.zero_validation_losses[b]!,
  ).length;
  const [least, most] = [Math.min(...best), Math.max(...best)].map((epoch) => figure(epoch, "count"));
  const range = least === most ? `is ${least}` : `is ${least} to ${most}`;
  return ` Over the ${countedRows(best.length, "block")} it was trained for, the best epoch ${range}, and ${figure(below, "count")} of the validation losses are below that of the zero forecast.`;
}

/** The range of the best epochs of several networks. */
function epochsOf(courses: readonly Course[]): string {
  const best = courses.map(({ bestEpoch }) => bestEpoch);
  const [first, last] = [Math.min(...best), Math.max(...best)];
  return first === last ? String(first) : `${first} to ${last}`;
}

/**
 * The best epoch was chosen by this loss, so a loss below zero's is no evidence of skill, and a loss that is not below is evidence of
 * no skill.
 */
function comparedWithZero(best: number | undefined, zeroLoss: number | undefined): string {
  if (best === undefined || zeroLoss === undefined) return "";
  const zero = figure(zeroLoss, "number");
  if (figure(best, "number") === zero) return ", equal to that of the zero forecast in the digits shown";
  return `, ${best < zeroLoss ? "below" : "not below"} the ${zero} of the zero forecast`;
}

function findingOf(trained: readonly TrainedNetwork[]): string {
  const networks = trained.flatMap((network): Course[] => [network, ...network.members]);
  const first = networks.filter(({ bestEpoch }) => bestEpoch === 1).length;
  const last = networks.filter(({ bestEpoch, validationLoss }) => bestEpoch === validationLoss.length).length;
  const all = countedRows(networks.length, networks.length > trained.length ? "member" : "network");
  const early =
    first === 0
      ? "none was best after its first epoch"
      : `${figure(first, "count")} ${first === 1 ? "was" : "were"} best after the first epoch, so the validation rows show no gain from later epochs`;
  const late = `${last === 0 ? "none" : figure(last, "count")} ${last <= 1 ? "was" : "were"} best after the last epoch`;
  return `Of ${all}, ${early}; ${late}.${againstZero(networks)}`;
}

function againstZero(networks: readonly Course[]): string {
  const isBelow = networks.flatMap(({ validationLoss, bestEpoch, zeroLoss }) =>
    zeroLoss === undefined ? [] : [validationLoss[bestEpoch - 1]! < zeroLoss],
  );
  if (isBelow.length === 0) return "";
  const below = isBelow.filter(Boolean).length;
  const which =
    below === 0
      ? "At its best epoch, none"
      : `At its best epoch, ${below === isBelow.length ? "each" : `${figure(below, "count")} of them`}`;
  return ` ${which} had a lower validation loss than the zero forecast.`;
}

/** Up to this many networks, each has its curves at once; more are one fan, and single ones open on demand. */
const MAX_OPEN_CURVES = 4;
/** More curves would make the page too large; the table has them all. */
const MAX_CURVES = 200;
/** The number of ensemble members with a line, in addition to member 0. */
const MAX_MEMBERS = 19;

/** Training and validation curves of networks. */
export function trainingPanels({ networks, finding }: Training): Panel[] {
  const shown = networks.slice(0, MAX_CURVES);
  const cut = shown.length < networks.length ? ` The first ${MAX_CURVES} open on demand.` : "";
  const members = Math.max(...networks.map((network) => network.members.length));
  const hasZero = shown.some(({ zeroLoss }) => zeroLoss !== undefined);
  const curves = `<div class="small">${shown.map(curveHtml).join("")}</div>`;
  const ofEach = keyLine([
    ["line", "validation loss"],
    ["line second", "training loss"],
    ...(members > 0 ? [["line faint", membersKey(members)] as const] : []),
    ["at", "best epoch"],
    ...(hasZero ? [["level", "loss of the zero forecast"] as const] : []),
  ]);
  const panel = {
    title: `Training of ${countedRows(networks.length, "network")}`,
    finding: `${finding}${cut}`,
    numbers: epochsTable(networks, members > 0),
  };
  if (networks.length <= MAX_OPEN_CURVES) return [{ ...panel, key: ofEach, chart: curves, isWide: true }];
  const fan = fanChart(networks, finding);
  const each = `<details class="curves"><summary>Curves of single networks</summary>${ofEach}${curves}</details>`;
  return [
    {
      ...panel,
      key: keyLine([
        ["line", "median validation loss"],
        ["line second", "median training loss"],
        ["band inner", "middle half of the validation losses"],
        ["band", `${wholePercent(90)} of them`],
        ["at", "median best epoch"],
        ...(hasZero ? [["level", "median loss of the zero forecast"] as const] : []),
      ]),
      chart: { extent: fan.extent, draw: (within) => `${fan.draw(within)}${each}` },
    },
  ];
}

/** The curves of all networks as quantiles by epoch. */
function fanChart(networks: readonly TrainedNetwork[], finding: string): ScaledChart {
  const courses = networks.flatMap((network): Course[] => [network, ...network.members]);
  const fan = courseFan(courses.map(({ validationLoss }) => validationLoss));
  const middleOf = (values: readonly number[]) => quantileOf(Float64Array.from(values).sort(), 0.5);
  const zero = middleOf(courses.flatMap(({ zeroLoss }) => zeroLoss ?? []));
  return lineChart({
    finding,
    x: Int32Array.from(fan.median, (_, i) => i + 1),
    xKind: "epoch",
    unit: "number",
    lines: [
      { name: "median validation loss", values: fan.median },
      {
        name: "median training loss",
        values: courseFan(networks.map(({ trainLoss }) => trainLoss)).median.subarray(0, fan.median.length),
      },
    ],
    band: { low: fan.low, high: fan.high },
    inner: { low: fan.lowerQuarter, high: fan.upperQuarter },
    at: Math.min(fan.median.length, Math.round(middleOf(courses.map(({ bestEpoch }) => bestEpoch)))),
    levels: Number.isNaN(zero) ? [] : [zero],
    height: 220,
  });
}

function epochsTable(networks: readonly TrainedNetwork[], areEnsembles: boolean): string {
  const haveIc = networks.some(({ validationIc }) => validationIc !== undefined);
  return numbersTable({
    caption: "networks",
    columns: [
      "Network",
      "Epochs",
      "Best epoch",
      "Validation loss at best epoch",
      ...(haveIc ? ["Validation IC at best epoch"] : []),
      "Loss of the zero forecast",
      ...(areEnsembles ? ["Other members", "Their best epochs"] : []),
      "Parameters",
    ],
    rows: networks.map(({ name, validationLoss, validationIc, bestEpoch, zeroLoss, members, parameters }) => [
      name,
      figure(validationLoss.length, "count"),
      figure(bestEpoch, "count"),
      figure(validationLoss[bestEpoch - 1], "number"),
      ...(haveIc ? [figure(validationIc?.[bestEpoch - 1], "ic")] : []),
      figure(zeroLoss, "number"),
      ...(areEnsembles ? [figure(members.length, "count"), epochsOf(members)] : []),
      figure(parameters, "count"),
    ]),
  });
}

function membersKey(members: number): string {
  const which = members > MAX_MEMBERS ? `${MAX_MEMBERS} of the ${members}` : "the";
  return `validation loss of ${which} other members`;
}

function curveHtml({
  finding,
  trainLoss,
  validationLoss,
  bestEpoch,
  zeroLoss,
  members,
}: TrainedNetwork): string {
  const drawn = members.slice(0, MAX_MEMBERS).map((member) => member.validationLoss);
  const longest = Math.max(validationLoss.length, ...drawn.map(({ length }) => length));
  const x = Int32Array.from({ length: longest }, (_, i) => i + 1);
  const chart = lineChart({
    finding,
    x,
    xKind: "epoch",
    unit: "number",
    lines: [
      { name: "validation loss", values: validationLoss },
      { name: "training loss", values: trainLoss },
    ],
    faint: drawn,
    at: bestEpoch,
    levels: zeroLoss === undefined ? [] : [zeroLoss],
    height: 120,
  });
  return `<div><p>${escapeText(finding)}</p>${chart.draw([])}</div>`;
}
