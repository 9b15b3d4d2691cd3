import { join } from "node:path";
import type { TickerFeatures } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { type ArrayRef, linkArray, readNpyRows, removeArray, writeNpy } from "../../engine/npy.ts";
import type { LateCandidate, LateSource } from "../../panel/late-network.ts";
import { joinLateTicker, latePanelAt, type Peers, withFeaturesOf } from "../../panel/late-ticker.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import type { PanelRows, TickerInput, TickerPanel } from "../../panel/ticker-panel.ts";
import { columnsOnDisk, type PanelOnDisk, panelsInMemory, selectColumns } from "./panel-files.ts";
import type { Prepared } from "./prepare-panels.ts";

type KeptInput = Omit<TickerInput, "features"> & {
  readonly features: Omit<TickerFeatures, "values">;
  /** Shape (columns, days). */
  readonly values: ArrayRef;
};

/**
 * Joins late tickers at the first block with enough rows; undefined for one that joins at no block. @param features the allowed
 * ones; undefined for all.
 */
export type JoinLate = (
  blocks: readonly RefitBlock[],
  features?: ReadonlySet<string>,
) => Iterable<TickerPanel | undefined>;

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

  /** The work that joins each candidate, one at a time in memory, once; undefined for one that joins at no block. */
  *join(
    peers: Peers,
    blocks: readonly RefitBlock[],
    features?: ReadonlySet<string>,
  ): Generator<TickerPanel | undefined> {
    for (const kept of this.#kept) {
      const input = inMemory(kept);
      removeArray(kept.values.ref);
      yield joinLateTicker(input, blocks, peers, features);
    }
  }

  /** The late tickers of networks. @param toPanel converts the panel of one that has joined. */
  candidates<P extends PanelRows>(
    peers: Peers,
    toPanel: (panel: TickerPanel) => P,
    features?: ReadonlySet<string>,
  ): LateCandidate<P>[] {
    return this.#kept.map((kept) => {
      const input = () => withFeaturesOf(inMemory(kept), peers, features);
      return {
        ticker: kept.ticker,
        rowsAt: (known) => latePanelAt(input(), known, peers),
        join: (known) => toPanel(latePanelAt(input(), known, peers)!),
      };
    });
  }

  /** The candidates of a job, whose panels are in the work folder. */
  source(peers: Peers): LateSource<PanelOnDisk> {
    let files = 0;
    const toDisk = ({ x, ...panel }: TickerPanel): PanelOnDisk => {
      const path = join(this.#workFolder, `joined${files++}.npy`);
      return { ...panel, x: writeNpy(path, x, [panel.days.length, panel.columns.length]) };
    };
    return {
      candidates: (features) => this.candidates(peers, toDisk, features),
      withColumns: (panel, columns) =>
        columnsOnDisk(panel, columns, join(this.#workFolder, `joined${files++}.npy`)),
    };
  }

  remove(): void {
    for (const { values } of this.#kept) removeArray(values.ref);
  }

  previewSource(peers: Peers): LateSource<PanelRows> {
    const rowsOf = ({ x: _, ...rows }: TickerPanel): PanelRows => rows;
    return {
      candidates: (features) => this.candidates(peers, rowsOf, features),
      withColumns: (panel, columns) => selectColumns(panel, columns).panel,
    };
  }

  /** The tickers that join. */
  *joining(
    { peers }: Pick<Prepared<PanelRows>, "peers">,
    blocks: readonly RefitBlock[],
    features?: ReadonlySet<string>,
  ): Generator<TickerPanel> {
    for (const panel of this.join(peers, blocks, features)) {
      if (panel !== undefined) yield panel;
    }
  }

  /** The other panels, then the panels that join, then the failures of the rest. */
  *joined(prepared: Prepared<PanelOnDisk>, blocks: readonly RefitBlock[]): Generator<TickerPanel | Failure> {
    yield* panelsInMemory({ panels: prepared.panels, failures: [] });
    const joined: Pick<PanelRows, "ticker">[] = [];
    for (const panel of this.joining(prepared, blocks)) {
      if (!hasForecasts(panel)) continue;
      joined.push({ ticker: panel.ticker });
      yield panel;
    }
    yield* failuresWithout(joined, prepared.failures);
  }
}

function inMemory({ values: file, ...input }: KeptInput): TickerInput {
  const values = readNpyRows(file, 0, input.features.columns.length);
  return { ...input, features: { ...input.features, values } };
}

/** Whether a ticker has something to forecast: prices of a late ticker may end before it joins. Pooled models still learn from it. */
export function hasForecasts({ joins, score }: Pick<PanelRows, "joins" | "score">): boolean {
  return joins === undefined || score.length > 0;
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
