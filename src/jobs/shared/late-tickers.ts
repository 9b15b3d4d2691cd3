import { join } from "node:path";
import type { TickerFeatures } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { type ArrayRef, linkArray, readNpyRows, removeArray, writeNpy } from "../../engine/npy.ts";
import { type JoinRule, joinLateTicker, type Peers } from "../../panel/late-ticker.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import type { PanelRows, TickerInput, TickerPanel } from "../../panel/ticker-panel.ts";

type KeptInput = Omit<TickerInput, "features"> & {
  readonly features: Omit<TickerFeatures, "values">;
  /** Shape (columns, days). */
  readonly values: ArrayRef;
};

/**
 * The tickers of a job with `refit_every` that have too few fit rows at the cut, until its blocks are known. Their features are
 * in the work folder.
 */
export class LateTickers {
  readonly #workFolder: string;
  readonly #kept: KeptInput[] = [];

  constructor(workFolder: string) {
    this.#workFolder = workFolder;
  }

  /** @throws MucastError output_failed if the work folder's disk is full. */
  keep({ features, ...input }: TickerInput): void {
    const { values, ...series } = features;
    const path = join(this.#workFolder, `late${this.#kept.length}.npy`);
    const shape = [series.columns.length, series.days.length];
    this.#kept.push({ ...input, features: series, values: writeNpy(path, values, shape) });
  }

  /** The same tickers under further names of their files, for another set of fits. @param folder inside the work folder; it exists. */
  linkedTo(folder: string): LateTickers {
    const other = new LateTickers(folder);
    for (const [i, kept] of this.#kept.entries()) {
      other.#kept.push({ ...kept, values: linkArray(kept.values, join(folder, `late${i}.npy`)) });
    }
    return other;
  }

  /** The panels of those that join, once: each with `joins`, one at a time in memory. */
  *join(peers: Peers, blocks: readonly RefitBlock[], rule: JoinRule): Generator<TickerPanel> {
    for (const { values: file, ...input } of this.#kept.splice(0)) {
      const values = readNpyRows(file, 0, input.features.columns.length);
      removeArray(file.ref);
      const panel = joinLateTicker(
        { ...input, features: { ...input.features, values } },
        blocks,
        peers,
        rule,
      );
      if (panel !== undefined) yield panel;
    }
  }

  remove(): void {
    for (const { values } of this.#kept) removeArray(values.ref);
  }
}

export function failuresWithout(
  joined: readonly Pick<PanelRows, "ticker">[],
  failures: readonly Failure[],
): Failure[] {
  const names = new Set(joined.map(({ ticker }) => ticker));
  return failures.filter(({ ticker }) => !names.has(ticker));
}

/** The features of a pooled fit, without z-scores: late tickers add no others. */
export function featuresOf(panels: readonly Pick<PanelRows, "columns" | "zScores">[]): ReadonlySet<string> {
  return new Set(panels.flatMap(({ columns, zScores = 0 }) => columns.slice(0, columns.length - zScores)));
}
