import type { ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import type { OrderedJson } from "../shared/ordered-json.ts";
import { type EvaluatedBlock, refitBlocksOf, tickerRefitsOf } from "../shared/refits-output.ts";
import type { PooledFit } from "./fit-pooled.ts";
import type { FittedTicker } from "./fitted-ticker.ts";
import type { SpreadImportance } from "./spread-importances.ts";

type Refits = NonNullable<OutputBlob["refits"]>;
type Members<Part> = Readonly<Record<keyof Part, OrderedJson>>;

interface RefitParts {
  readonly blocks: readonly EvaluatedBlock[];
  /** Ascending by code point. */
  readonly tickers: readonly { readonly fitted: FittedTicker }[];
}

/** The member `refits` of an output. */
export function refitsOf(
  { blocks, tickers }: RefitParts,
  pooled: PooledFit | undefined,
  settings: { readonly shrinkage: ShrinkageChoice },
): OrderedJson {
  const fitted = tickers.map((ticker) => ticker.fitted);
  return {
    blocks: refitBlocksOf(blocks, fitted, pooled?.blockRows),
    by_ticker: new Map(
      fitted.map((ticker) => [
        ticker.ticker,
        () => ({ ...tickerRefitsOf(ticker, blocks, settings), ...importancesOf(ticker) }),
      ]),
    ),
    ...importancesOf(pooled),
  } satisfies Members<Omit<Refits, "importances" | "training">>;
}

function importancesOf(fit: { readonly lastImportances?: readonly SpreadImportance[] } | undefined) {
  const importances = fit?.lastImportances;
  return importances === undefined
    ? {}
    : {
        importances: importances.map(({ feature, importance, spread }) => ({
          feature,
          importance,
          ...(spread === undefined ? {} : { spread }),
        })),
      };
}
