import { join } from "node:path";
import { inTurns, type Pausable } from "../../contract/machine/pausable.ts";
import type { TickerFeatures } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import { type ArrayRef, readNpyRows, removeArray, writeNpy } from "../../engine/npy.ts";
import { joinLateTicker, type Peers } from "../../panel/late-ticker.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import type { PanelRows, TickerInput, TickerPanel } from "../../panel/ticker-panel.ts";
import { type PanelOnDisk, panelsInMemory } from "./panel-files.ts";
import type { Prepared } from "./prepare-panels.ts";

type KeptInput = Omit<TickerInput, "features"> & {
  readonly features: Omit<TickerFeatures, "values">;
  /** Shape (columns, days). */
  readonly values: ArrayRef;
};

/** Joins late tickers at the first block with enough rows; undefined for one that joins at no block. @param features those that they may have; undefined: all. */
export type JoinLate = (
  blocks: readonly RefitBlock[],
  features?: ReadonlySet<string>,
) => Iterable<Pausable<TickerPanel | undefined>>;

/** The tickers of a job with `refit_every` that have too few fit rows at the cut, until its blocks are known. Their features lie in the work folder. */
export class LateTickers {
  readonly #workFolder: string;
  readonly #kept: KeptInput[] = [];

  constructor(workFolder: string) {
    this.#workFolder = workFolder;
  }

  /** @throws MucastError output_failed where the work folder's disk is full. */
  keep({ features, ...input }: TickerInput): void {
    const { values, ...series } = features;
    const path = join(this.#workFolder, `late${this.#kept.length}.npy`);
    const shape = [series.columns.length, series.days.length];
    this.#kept.push({ ...input, features: series, values: writeNpy(path, values, shape) });
  }

  /** The work that joins each, one at a time in memory, once; undefined for one that joins at no block. */
  *join(
    peers: Peers,
    blocks: readonly RefitBlock[],
    features?: ReadonlySet<string>,
  ): Generator<Pausable<TickerPanel | undefined>> {
    for (const { values: file, ...input } of this.#kept) {
      const values = readNpyRows(file, 0, input.features.columns.length);
      removeArray(file.ref);
      yield joinLateTicker({ ...input, features: { ...input.features, values } }, blocks, peers, features);
    }
  }

  /** Those that join, turn by turn. @throws the reason of the signal. */
  async *joining(
    { peers }: Pick<Prepared<PanelRows>, "peers">,
    blocks: readonly RefitBlock[],
    signal: AbortSignal,
    features?: ReadonlySet<string>,
  ): AsyncGenerator<TickerPanel> {
    for (const work of this.join(peers, blocks, features)) {
      const panel = await inTurns(work, signal);
      if (panel !== undefined) yield panel;
    }
  }

  /** The other panels, then those that join, then the failures of the rest. */
  async *joined(
    prepared: Prepared<PanelOnDisk>,
    blocks: readonly RefitBlock[],
    signal: AbortSignal,
  ): AsyncGenerator<TickerPanel | Failure> {
    yield* panelsInMemory({ panels: prepared.panels, failures: [] });
    const joined: Pick<PanelRows, "ticker">[] = [];
    for await (const panel of this.joining(prepared, blocks, signal)) {
      if (!hasForecasts(panel)) continue;
      joined.push({ ticker: panel.ticker });
      yield panel;
    }
    yield* failuresWithout(joined, prepared.failures);
  }
}

/** Whether a ticker has something to forecast: prices of a late ticker may end before it joins. Pooled models learn from it all the same. */
export function hasForecasts({ joins, score }: Pick<PanelRows, "joins" | "score">): boolean {
  return joins === undefined || score.length > 0;
}

/** The failures without those of tickers that have joined. */
export function failuresWithout(
  joined: readonly Pick<PanelRows, "ticker">[],
  failures: readonly Failure[],
): Failure[] {
  const names = new Set(joined.map(({ ticker }) => ticker));
  return failures.filter(({ ticker }) => !names.has(ticker));
}

/** The features of a pooled fit, without z-scores: late tickers bring no others. */
export function featuresOf(panels: readonly Pick<PanelRows, "columns" | "zScores">[]): ReadonlySet<string> {
  return new Set(panels.flatMap(({ columns, zScores = 0 }) => columns.slice(0, columns.length - zScores)));
}
