import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { shortVisibleText } from "../../contract/visible-text.ts";
import { type Mark, vertical } from "../../view/chart.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { html, onText, select } from "../../view/html.ts";
import { panel } from "../../view/panel.ts";
import { numbers } from "../../view/table.ts";
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
  const shown = name === undefined ? curves.median() : curves.of(name);
  const best = bestOf(shown);
  const which =
    name === undefined
      ? `Median of ${countedRows(networks.length, "network")}, for epochs that at least half have reached`
      : shortVisibleText(name, 40);
  const found =
    best === undefined
      ? "No finite validation loss yet."
      : `Best validation loss: ${figure(best.validation, "number")} (epoch ${best.epoch}).`;
  const sentence = `${which}. ${found}`;
  const line = (kind: string, meaning: string, of: (point: CurvePoint) => number | null): Mark => {
    const points = shown.map((point) => [point.epoch, of(point) ?? Number.NaN] as const);
    return { kind, shape: "line", points, meaning };
  };
  const body =
    leftOut > 0 &&
    html`<p class="hint">${countedRows(leftOut, "epoch")} are not shown here because they arrived too fast; the report
      shows all epochs.</p>`;
  return panel({
    sentence,
    chart: {
      x: "epochs",
      y: { unit: "number", title: "loss of scaled returns" },
      height: 220,
      marks: [
        best !== undefined && vertical(best.epoch, `best epoch, ${best.epoch}`),
        line("line", "validation loss", ({ validation }) => validation),
        line("line second", "training loss", ({ train }) => train),
      ],
    },
    body,
    numbers: numbers({
      name: "Losses by epoch",
      rows: shown.slice(-MAX_ROWS).reverse(),
      columns: [
        ["Epoch", "count", ({ epoch }) => epoch],
        ["Training", "number", ({ train }) => train],
        ["Validation", "number", ({ validation }) => validation],
      ],
    }),
  });
}
