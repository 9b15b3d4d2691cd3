import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { EpochPoint, Epochs } from "../../client/index.ts";
import { shortVisibleText } from "../../contract/visible-text.ts";
import { vertical } from "../../view/chart.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { html, onText, select } from "../../view/html.ts";
import { panel } from "../../view/panel.ts";
import type { Point } from "../../view/path.ts";
import { numbers } from "../../view/table.ts";
import type { FollowedRun } from "./follow-run.ts";

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

/** Both losses of an epoch, on scaled returns; null if one is not finite. */
interface CurvePoint {
  readonly epoch: number;
  readonly train: number | null;
  readonly validation: number | null;
}

/** What the networks of a job have learned so far, from its events, of which the service keeps only so many. */
export class TrainingCurves {
  readonly #curves = new Map<string, Map<number, CurvePoint>>();
  /** The number of epochs that the service did not send, as it reports. */
  leftOut = 0;

  add({ points, left_out = 0 }: Epochs): void {
    this.leftOut += left_out;
    for (const point of points) {
      const { epoch, train_loss: train, validation_loss: validation } = point;
      const curve = this.#curves.get(networkOf(point)) ?? new Map<number, CurvePoint>();
      this.#curves.set(networkOf(point), curve.set(epoch, { epoch, train, validation }));
    }
  }

  /** Names of the networks, in the order in which they started. */
  get networks(): readonly string[] {
    return [...this.#curves.keys()];
  }

  /** The losses of a network by epoch. */
  of(network: string): readonly CurvePoint[] {
    return [...(this.#curves.get(network)?.values() ?? [])].sort((a, b) => a.epoch - b.epoch);
  }

  /**
   * The median loss at each epoch that at least half of the networks have reached. Later epochs would show only the few networks that
   * train longest.
   */
  median(): readonly CurvePoint[] {
    const points = [...this.#curves.values()].flatMap((curve) => [...curve.values()]);
    return [...Map.groupBy(points, ({ epoch }) => epoch)]
      .filter(([, reached]) => reached.length >= this.#curves.size / 2)
      .sort(([a], [b]) => a - b)
      .map(([epoch, reached]) => ({
        epoch,
        train: medianOf(reached.map(({ train }) => train)),
        validation: medianOf(reached.map(({ validation }) => validation)),
      }));
  }
}

/** The epoch with the smallest validation loss; undefined if none is finite. */
export function bestOf(points: readonly CurvePoint[]): CurvePoint | undefined {
  const finite = points.filter(({ validation }) => validation !== null);
  return finite.toSorted((a, b) => a.validation! - b.validation!)[0];
}

function networkOf({ ticker, member }: EpochPoint): string {
  return member === undefined ? ticker : `${ticker} member ${member}`;
}

/** Of the finite values; null if there are none. */
function medianOf(values: readonly (number | null)[]): number | null {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
