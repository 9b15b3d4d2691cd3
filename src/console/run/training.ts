import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { shortVisibleText } from "../../contract/visible-text.ts";
import { vertical } from "../../view/chart.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { html, onText, select } from "../../view/html.ts";
import { panel } from "../../view/panel.ts";
import type { Point } from "../../view/path.ts";
import { numbers } from "../../view/table.ts";
import type { FollowedRun } from "./follow-run.ts";
import { bestOf, type CurvePoint, type TrainingCurves } from "./training-curves.ts";

/** The losses of the networks while they train: the median of all, or one network. */
export function Training({ run: { curves } }: { readonly run: FollowedRun }): VNode | undefined {
  const [chosen, choose] = useState("all");
  const { networks } = curves;
  if (networks.length === 0) return undefined;
  const names = networks.map((name, i) => [String(i), shortVisibleText(name, 40)] as const);
  return html`<section>
    <h2>Training</h2>
    ${
      networks.length > 1 &&
      html`<label>Network${" "}
      ${select(chosen, [["all", "Median of all"], ...names], { onChange: onText(choose) })}</label>`
    }
    ${lossPanel(curves, networks.length === 1 ? networks[0] : networks[Number(chosen)])}
  </section>`;
}

function lossPanel(curves: TrainingCurves, network: string | undefined): VNode {
  const { networks, leftOut } = curves;
  const points = network === undefined ? curves.median() : curves.of(network);
  const best = bestOf(points);
  const which =
    network === undefined
      ? `Median of ${countedRows(networks.length, "network")}, for epochs that at least half have reached`
      : shortVisibleText(network, 40);
  const found =
    best === undefined
      ? "No finite validation loss yet."
      : `Best validation loss: ${figure(best.validation, "number")} (epoch ${best.epoch}).`;
  const line = (kind: string, meaning: string, loss: (point: CurvePoint) => number | null) => ({
    ...{ kind, meaning, shape: "line" as const },
    points: points.map((point): Point => [point.epoch, loss(point) ?? Number.NaN]),
  });
  return panel({
    sentence: `${which}. ${found}`,
    chart: {
      x: "epochs",
      y: { unit: "number", title: "loss of scaled returns" },
      marks: [
        line("line", "validation loss", ({ validation }) => validation),
        line("line second", "training loss", ({ train }) => train),
        best !== undefined && vertical(best.epoch, `best epoch, ${best.epoch}`),
      ],
      height: 220,
    },
    body:
      leftOut > 0 &&
      html`<p class="hint">${countedRows(leftOut, "epoch")} are not shown here because they arrived too fast; the report
        shows all epochs.</p>`,
    numbers: numbers<CurvePoint>({
      name: "Losses by epoch",
      columns: [
        ["Epoch", "count", ({ epoch }) => epoch],
        ["Training", "number", ({ train }) => train],
        ["Validation", "number", ({ validation }) => validation],
      ],
      rows: points,
    }),
  });
}
