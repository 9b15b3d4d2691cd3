import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { EpochPoint } from "../../client/index.ts";
import { shortVisibleText } from "../../contract/visible-text.ts";
import { vertical } from "../../view/chart.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { html, onText, select } from "../../view/html.ts";
import { panel } from "../../view/panel.ts";
import type { Point } from "../../view/path.ts";
import { numbers } from "../../view/table.ts";
import type { FollowedRun } from "./follow-run.ts";

/** Both losses of an epoch, on scaled returns; null if one is not finite. */
type Losses = Pick<EpochPoint, "epoch" | "train_loss" | "validation_loss">;

/** The losses of the networks while they train: the median of all, or one network. */
export function Training({ run: { epochs, leftOut } }: { readonly run: FollowedRun }): VNode | undefined {
  const [chosen, choose] = useState("all");
  const points = [...epochs.values()];
  const networks = [...new Set(points.map(networkOf))];
  if (networks.length === 0) return undefined;
  const names = networks.map((name, i) => [String(i), shortVisibleText(name, 40)] as const);
  const network = networks.length === 1 ? networks[0] : networks[Number(chosen)];
  const losses = lossesOf(points, network);
  const best = bestOf(losses);
  const which =
    network === undefined
      ? `Median of ${countedRows(networks.length, "network")}, for epochs that at least half have reached`
      : shortVisibleText(network, 40);
  const found =
    best === undefined
      ? "No finite validation loss yet."
      : `Best validation loss: ${figure(best.validation_loss, "number")} (epoch ${best.epoch}).`;
  const line = (kind: string, meaning: string, loss: "train_loss" | "validation_loss") => ({
    ...{ kind, meaning, shape: "line" as const },
    points: losses.map((each): Point => [each.epoch, each[loss] ?? Number.NaN]),
  });
  const shown = panel({
    sentence: `${which}. ${found}`,
    chart: {
      x: "epochs",
      y: { unit: "number", title: "loss of scaled returns" },
      marks: [
        line("line", "validation loss", "validation_loss"),
        line("line second", "training loss", "train_loss"),
        best !== undefined && vertical(best.epoch, `best epoch, ${best.epoch}`),
      ],
      height: 220,
    },
    body:
      leftOut > 0 &&
      html`<p class="hint">${countedRows(leftOut, "epoch")} are not shown here because they arrived too fast; the report
        shows all epochs.</p>`,
    numbers: numbers<Losses>({
      name: "Losses by epoch",
      columns: [
        ["Epoch", "count", ({ epoch }) => epoch],
        ["Training", "number", ({ train_loss }) => train_loss],
        ["Validation", "number", ({ validation_loss }) => validation_loss],
      ],
      rows: losses,
    }),
  });
  return html`<section>
    <h2>Training</h2>
    ${
      networks.length > 1 &&
      html`<label>Network${" "}
      ${select(chosen, [["all", "Median of all"], ...names], { onChange: onText(choose) })}</label>`
    }
    ${shown}
  </section>`;
}

export function networkOf({ ticker, member }: EpochPoint): string {
  return member === undefined ? ticker : `${ticker} member ${member}`;
}

/**
 * The losses of a network by epoch; without a network the medians, at each epoch that at least half of the networks have reached. Later
 * epochs would show only the few networks that train longest.
 */
export function lossesOf(points: readonly EpochPoint[], network?: string): readonly Losses[] {
  const least = network === undefined ? new Set(points.map(networkOf)).size / 2 : 1;
  const shown = points.filter((point) => network === undefined || networkOf(point) === network);
  return [...Map.groupBy(shown, ({ epoch }) => epoch)]
    .filter(([, reached]) => reached.length >= least)
    .sort(([a], [b]) => a - b)
    .map(([epoch, reached]) => ({
      epoch,
      train_loss: medianOf(reached.map(({ train_loss }) => train_loss)),
      validation_loss: medianOf(reached.map(({ validation_loss }) => validation_loss)),
    }));
}

/** The epoch with the smallest validation loss; undefined if none is finite. */
export function bestOf(losses: readonly Losses[]): Losses | undefined {
  const finite = losses.filter(({ validation_loss }) => validation_loss !== null);
  return finite.toSorted((a, b) => a.validation_loss! - b.validation_loss!)[0];
}

/** Of the finite values; null if there are none. */
function medianOf(values: readonly (number | null)[]): number | null {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
