import { formatDay } from "../../../contract/market/dates.ts";
import { columnChart } from "../../charts/column-chart.ts";
import { escapeText } from "../../charts/escape-text.ts";
import { foldChart } from "../../charts/fold-chart.ts";
import { lineChart } from "../../charts/line-chart.ts";
import { countedRows, figure } from "../../data/figures.ts";
import type { Folds, TrainedNetwork, Training } from "../../data/section-data.ts";
import { epochsOf } from "../../data/sections/training.ts";
import { numbersTable, plainTable } from "../numbers-table.ts";
import { keyLine, type Panel } from "../panel.ts";

/** The walk-forward folds. */
export function foldsPanels({ folds, timelineFinding, skillFinding, beside, besideFinding }: Folds): Panel[] {
  return [
    {
      title: "Walk-forward timeline",
      finding: timelineFinding,
      chart: foldChart(timelineFinding, folds),
      key: keyLine([
        ["train", "training rows"],
        ["bar", "test rows"],
      ]),
      numbers: numbersTable({
        caption: "folds",
        columns: ["Fold", "Train from", "to", "Test from", "to", "Test rows", "R² against zero"],
        rows: folds.map((fold) => [
          String(fold.fold),
          formatDay(fold.trainStart),
          formatDay(fold.trainEnd),
          formatDay(fold.testStart),
          formatDay(fold.testEnd),
          figure(fold.n, "count"),
          figure(fold.r2Zero, "percent"),
        ]),
      }),
    },
    {
      title: "R² by fold",
      finding: skillFinding,
      chart: columnChart({
        finding: skillFinding,
        labels: folds.map(({ fold }) => String(fold)),
        unit: "percent",
        series: [folds.map(({ r2Zero }) => r2Zero)],
      }),
    },
    {
      title: "Out-of-fold and score rows",
      finding: besideFinding,
      chart: plainTable({
        caption: "out-of-fold and score rows",
        columns: ["Metric", "Out of fold", "Score rows"],
        rows: beside.map(({ name, unit, outOfFold, score }) => [
          name,
          figure(outOfFold, unit),
          figure(score, unit),
        ]),
      }),
    },
  ];
}

/** More curves are not readable; the table has them all. */
const MAX_CURVES = 12;
/** The number of ensemble members with a line, in addition to member 0. */
const MAX_MEMBERS = 19;

/** Training and validation curves of networks. */
export function trainingPanels({ networks, finding }: Training): Panel[] {
  const shown = networks.slice(0, MAX_CURVES);
  const cut = shown.length < networks.length ? ` The first ${MAX_CURVES} are shown.` : "";
  const haveIc = networks.some(({ validationIc }) => validationIc !== undefined);
  const areEnsembles = networks.some(({ members }) => members.length > 0);
  const epochs = numbersTable({
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
      ...(haveIc ? [figure(validationIc?.[bestEpoch - 1], "number")] : []),
      figure(zeroLoss, "number"),
      ...(areEnsembles ? [figure(members.length, "count"), epochsOf(members)] : []),
      figure(parameters, "count"),
    ]),
  });
  const hasZero = shown.some(({ zeroLoss }) => zeroLoss !== undefined);
  const key = keyLine([
    ["line", "validation loss"],
    ["line second", "training loss"],
    ...(areEnsembles
      ? [["line faint", membersKey(Math.max(...networks.map(({ members }) => members.length)))] as const]
      : []),
    ["at", "best epoch"],
    ...(hasZero ? [["level", "loss of the zero forecast"] as const] : []),
  ]);
  const curves = `<div class="small">${shown.map(curveHtml).join("")}</div>`;
  return [
    {
      title: `Training of ${countedRows(networks.length, "network")}`,
      finding: `${finding}${cut}`,
      key,
      chart: curves,
      numbers: epochs,
      isWide: true,
    },
  ];
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
