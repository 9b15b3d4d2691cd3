import type { VNode } from "preact";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import type { OutputSummary } from "../../outputs/output-summary.ts";
import { byTicker } from "../../outputs/scored-rows.ts";
import { areaOf, type Chart, chart, keyOf, level, lineOf, type Mark, vertical } from "../../view/chart.ts";
import { countedRows, figure, wholePercent } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { numbers } from "../../view/table.ts";
import { sentence } from "../../view/text.ts";
import { absent, type ReportPanel } from "../section.ts";
import { courseFan, quantileOf } from "../statistics/course-fan.ts";

/** The losses of one network by epoch. */
interface Course {
  readonly validationLoss: Float64Array;
  /** The IC of the validation dates at the best epoch, if early stopping monitored it. */
  readonly bestIc: number | undefined;
  /** Counted from 1. */
  readonly bestEpoch: number;
  /** The validation loss of the zero forecast, if the output has it. */
  readonly zeroLoss: number | undefined;
}

interface TrainedNetwork extends Course {
  /** A ticker, or `portfolio`. */
  readonly name: string;
  readonly trainLoss: Float64Array;
  readonly parameters: number;
  /** For an ensemble, its networks from member 1 on. */
  readonly members: readonly Course[];
  readonly sentence: string;
}

/** Up to this many networks, each has its curves at once; more are one fan, and single ones open on demand. */
const MAX_OPEN_CURVES = 4;
/** More curves would make the page too large; the table has them all. */
const MAX_CURVES = 200;
/** The number of ensemble members with a line, in addition to member 0. */
const MAX_MEMBERS = 19;

export function trainingPanels(document: OutputSummary): ReportPanel[] {
  const networks = byTicker(document.training!).map(([name, network]) => networkOf(name, network, document));
  if (networks.length === 0) return absent("Training", "No network was trained.");
  const cut = networks.length > MAX_CURVES ? ` The first ${MAX_CURVES} open on demand.` : "";
  const charts = networks.slice(0, MAX_CURVES).map((network) => ({ network, drawn: curvesOf(network) }));
  const curves = html`<div class="small">${charts.map(
    ({ network: { sentence: text }, drawn }) =>
      html`<div><p>${sentence(text)}</p>${chart(drawn, text)}</div>`,
  )}</div>`;
  const most = charts.reduce((a, b) => (b.network.members.length > a.network.members.length ? b : a));
  const key = keyOf(most.drawn.marks);
  const panel = {
    title: `Training of ${countedRows(networks.length, "network")}`,
    sentence: `${sentenceOf(networks)}${cut}`,
    numbers: epochsTable(networks),
  };
  if (networks.length <= MAX_OPEN_CURVES) return [{ ...panel, body: html`${key}${curves}`, isWide: true }];
  const each = html`<details class="curves"><summary>Curves of single networks</summary>${key}${curves}</details>`;
  return [{ ...panel, chart: fanOf(networks), body: each }];
}

type RecordedNetwork = NonNullable<OutputBlob["training"]>[string];

function networkOf(name: string, network: RecordedNetwork, { refits }: OutputSummary): TrainedNetwork {
  const course = courseOf(network);
  const members = (network.members ?? []).map(courseOf);
  const member = members.length === 0 ? "" : `, member 0 of ${members.length + 1}`;
  const others = members.length === 0 ? "" : ` Best epochs of the other members: ${epochsOf(members)}.`;
  return {
    ...course,
    name,
    trainLoss: Float64Array.from(network.epochs, ({ train_loss }) => train_loss),
    parameters: network.parameters,
    members,
    sentence: `${name}${member}: ${bestOf(course)}.${others}${overBlocks(name, refits)}`,
  };
}

type RecordedCourse = Pick<RecordedNetwork, "epochs" | "best_epoch" | "zero_validation_loss">;

function courseOf({ epochs, best_epoch, zero_validation_loss }: RecordedCourse): Course {
  return {
    validationLoss: Float64Array.from(epochs, ({ validation_loss }) => validation_loss),
    bestIc: epochs[best_epoch - 1]?.validation_ic,
    bestEpoch: best_epoch,
    zeroLoss: zero_validation_loss,
  };
}

const bestLoss = ({ validationLoss, bestEpoch }: Course) => validationLoss[bestEpoch - 1]!;

/**
 * The best epoch was chosen by this loss, so a loss below zero's is no evidence of skill, and a loss that is not below is evidence of
 * no skill.
 */
function bestOf(course: Course): string {
  const { validationLoss, bestIc, bestEpoch, zeroLoss } = course;
  const [best, zero] = [figure(bestLoss(course), "number"), figure(zeroLoss, "number")];
  const ic = bestIc === undefined ? "" : `a validation IC of ${figure(bestIc, "ic")} and `;
  const compared =
    zeroLoss === undefined
      ? ""
      : best === zero
        ? ", equal to that of the zero forecast in the digits shown"
        : `, ${bestLoss(course) < zeroLoss ? "below" : "not below"} the ${zero} of the zero forecast`;
  return `epoch ${bestEpoch} was the best of ${countedRows(validationLoss.length, "epoch")}, with ${ic}a validation loss of ${best}${compared}`;
}

/** The networks of all blocks, for an ensemble the means of its members; empty without refits and in outputs that do not record them. */
function overBlocks(name: string, refits: OutputSummary["refits"]): string {
  const blocks = new Map(Object.entries(refits?.training ?? {})).get(name);
  const best = blocks?.best_epochs.filter((epoch) => epoch !== null) ?? [];
  if (blocks === undefined || best.length < 2) return "";
  const below = blocks.validation_losses.filter(
    (loss, b) => loss !== null && loss < blocks.zero_validation_losses[b]!,
  ).length;
  return ` Over the ${countedRows(best.length, "block")} it was trained for, the best epoch is ${rangeOf(best)}, and ${below} of the validation losses are below that of the zero forecast.`;
}

function epochsOf(courses: readonly Course[]): string {
  return rangeOf(courses.map(({ bestEpoch }) => bestEpoch));
}

function rangeOf(numbers: readonly number[]): string {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)].map((each) => figure(each, "count"));
  return least === most ? least! : `${least} to ${most}`;
}

function sentenceOf(trained: readonly TrainedNetwork[]): string {
  const networks = trained.flatMap((network): Course[] => [network, ...network.members]);
  const count = (is: (course: Course) => boolean) => networks.filter(is).length;
  const first = count(({ bestEpoch }) => bestEpoch === 1);
  const last = count(({ bestEpoch, validationLoss }) => bestEpoch === validationLoss.length);
  const all = countedRows(networks.length, networks.length > trained.length ? "member" : "network");
  const early =
    first === 0
      ? "none was best after its first epoch"
      : `${figure(first, "count")} ${first === 1 ? "was" : "were"} best after the first epoch, so the validation rows show no gain from later epochs`;
  const late = `${last === 0 ? "none" : figure(last, "count")} ${last <= 1 ? "was" : "were"} best after the last epoch`;
  const judged = count(({ zeroLoss }) => zeroLoss !== undefined);
  const below = count((course) => course.zeroLoss !== undefined && bestLoss(course) < course.zeroLoss);
  const which = below === 0 ? "none" : below === judged ? "each" : `${figure(below, "count")} of them`;
  const zero =
    judged === 0 ? "" : ` At its best epoch, ${which} had a lower validation loss than the zero forecast.`;
  return `Of ${all}, ${early}; ${late}.${zero}`;
}

const LOSS = { unit: "number", title: "loss" } as const;

function lossMarks(
  of: string,
  epochs: ArrayLike<number>,
  [validation, training]: readonly [Float64Array, Float64Array],
  best: number,
  zero: number | undefined,
): Chart["marks"] {
  const line = (kind: string, name: string, values: Float64Array): Mark => {
    return { kind, shape: "line", points: lineOf(epochs, values), name, meaning: name };
  };
  return [
    zero !== undefined && level(zero, `${of}loss of the zero forecast`),
    vertical(best, `${of}best epoch`),
    line("line", `${of}validation loss`, validation),
    line("line second", `${of}training loss`, training),
  ];
}

function curvesOf({ trainLoss, validationLoss, bestEpoch, zeroLoss, members }: TrainedNetwork): Chart {
  const drawn = members.slice(0, MAX_MEMBERS).map((member) => member.validationLoss);
  const longest = Math.max(validationLoss.length, ...drawn.map(({ length }) => length));
  const epochs = Array.from({ length: longest }, (_, i) => i + 1);
  const which = members.length > MAX_MEMBERS ? `${MAX_MEMBERS} of the ${members.length}` : "the";
  const faint: Mark = {
    kind: "line faint",
    shape: "line",
    points: drawn.flatMap((values) => [...lineOf(epochs, values), [Number.NaN, Number.NaN] as const]),
    meaning: `validation loss of ${which} other members`,
  };
  const marks = lossMarks("", epochs, [validationLoss, trainLoss], bestEpoch, zeroLoss);
  return { x: "epochs", y: LOSS, height: 120, marks: [faint, ...marks] };
}

function fanOf(networks: readonly TrainedNetwork[]): Chart {
  const courses = networks.flatMap((network): Course[] => [network, ...network.members]);
  const { low, lowerQuarter, median, upperQuarter, high } = courseFan(
    courses.map(({ validationLoss }) => validationLoss),
  );
  const training = courseFan(networks.map(({ trainLoss }) => trainLoss)).median.subarray(0, median.length);
  const middle = (values: readonly number[]) => quantileOf(Float64Array.from(values).sort(), 0.5);
  const zero = middle(courses.flatMap(({ zeroLoss }) => zeroLoss ?? []));
  const best = Math.min(median.length, Math.round(middle(courses.map(({ bestEpoch }) => bestEpoch))));
  const epochs = Array.from(median, (_, i) => i + 1);
  return {
    x: "epochs",
    y: LOSS,
    height: 220,
    marks: [
      areaOf("band", epochs, low, high, `${wholePercent(90)} of the validation losses`),
      areaOf("band inner", epochs, lowerQuarter, upperQuarter, "middle half of them"),
      ...lossMarks("median ", epochs, [median, training], best, Number.isNaN(zero) ? undefined : zero),
    ],
  };
}

function epochsTable(networks: readonly TrainedNetwork[]): VNode {
  const haveIc = networks.some(({ bestIc }) => bestIc !== undefined);
  const areEnsembles = networks.some(({ members }) => members.length > 0);
  return numbers<TrainedNetwork>({
    name: "networks",
    rows: networks,
    columns: [
      ["Network", "text", ({ name }) => name],
      ["Epochs", "count", ({ validationLoss }) => validationLoss.length],
      ["Best epoch", "count", ({ bestEpoch }) => bestEpoch],
      ["Validation loss at best epoch", "number", bestLoss],
      haveIc && ["Validation IC at best epoch", "ic", ({ bestIc }) => bestIc],
      ["Loss of the zero forecast", "number", ({ zeroLoss }) => zeroLoss],
      areEnsembles && ["Other members", "count", ({ members }) => members.length],
      areEnsembles && ["Their best epochs", "text", ({ members }) => epochsOf(members)],
      ["Parameters", "count", ({ parameters }) => parameters],
    ],
  });
}
