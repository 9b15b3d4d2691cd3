import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { shortVisibleText } from "../../contract/visible-text.ts";
import { lineChart } from "../../view/chart.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { html, onText, select } from "../../view/html.ts";
import { panel } from "../../view/panel.ts";
import type { FollowedRun } from "./follow-run.ts";
import { bestOf, type CurvePoint, type TrainingCurves } from "./training-curves.ts";

/** Maximum number of rows of the table below the chart, the newest epochs. */
const MAX_ROWS = 60;

/** The losses of the networks while they train: the median of all, or one network. */
export function Training({ run: { curves } }: { readonly run: FollowedRun }): VNode | undefined {
  const [network, setNetwork] = useState<number>();
  const { networks } = curves;
  if (networks.length === 0) return undefined;
  const names = networks.map((name, i) => [String(i), shortVisibleText(name, 40)] as const);
  return html`<section>
    <h2>Training</h2>
    ${
      networks.length > 1 &&
      html`<label>Network${" "}
      ${select(String(network ?? "all"), [["all", "Median of all"], ...names], {
        onChange: onText((text) => setNetwork(text === "all" ? undefined : Number(text))),
      })}</label>`
    }
    ${lossPanel(curves, networks.length === 1 ? 0 : network)}
  </section>`;
}

function lossPanel(curves: TrainingCurves, network: number | undefined): VNode {
  const { networks, leftOut } = curves;
  const name = network === undefined ? undefined : networks[network]!;
  const points = name === undefined ? curves.median() : curves.of(name);
  const best = bestOf(points);
  const which =
    name === undefined
      ? `Median of ${countedRows(networks.length, "network")}, for epochs that at least half have reached`
      : shortVisibleText(name, 40);
  const found =
    best === undefined
      ? "No finite validation loss yet."
      : `Best validation loss: ${figure(best.validation, "number")} (epoch ${best.epoch}).`;
  const sentence = `${which}. ${found}`;
  const line = (of: (point: CurvePoint) => number | null) =>
    points.map((point) => ({ x: point.epoch, y: of(point) }));
  const lines = [line(({ validation }) => validation), line(({ train }) => train)];
  const key = html`<li class="validation">validation loss</li><li class="train">training loss</li>
    ${best && html`<li class="best">best epoch, ${best.epoch}</li>`}`;
  const marks = html`${lineChart({ name: sentence, xTitle: "epoch", yTitle: "loss of scaled returns", lines, at: best?.epoch })}
    ${
      leftOut > 0 &&
      html`<p class="hint">${countedRows(leftOut, "epoch")} are not shown here because they arrived too fast; the report
      shows all epochs.</p>`
    }`;
  const columns = [
    { title: "Epoch", cell: ({ epoch }: CurvePoint) => epoch },
    { title: "Training", cell: ({ train }: CurvePoint) => figure(train, "number") },
    { title: "Validation", cell: ({ validation }: CurvePoint) => figure(validation, "number") },
  ];
  return panel({ sentence, key, marks, columns, rows: points.slice(-MAX_ROWS).reverse() }, "Losses by epoch");
}
