import type { ShrinkageChoice } from "../../contract/config/shrinkage.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import type { BlockSkill } from "../../evaluate/block-skill.ts";
import type { OrderedJson } from "../shared/ordered-json.ts";
import type { PooledFit } from "./fit-pooled.ts";
import type { FittedTicker, ScoreModel } from "./fitted-ticker.ts";
import type { SpreadImportance } from "./spread-importances.ts";

/** A block of score rows with its metrics. */
export interface EvaluatedBlock extends BlockSkill {
  readonly start: Day;
  /** What shrinkage multiplies forecasts by, by ticker. */
  readonly factors: ReadonlyMap<string, number>;
}

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
  const models = Map.groupBy(
    fitted.flatMap((ticker) => ticker.models),
    ({ block }) => block,
  );
  return {
    blocks: blocks.map((block, b) => blockOf(block, models.get(b) ?? [], pooled?.blockRows[b])),
    by_ticker: new Map(fitted.map((ticker) => [ticker.ticker, () => tickerOf(ticker, blocks, settings)])),
    ...importancesOf(pooled),
  } satisfies Members<Omit<Refits, "importances">>;
}

function blockOf(
  { start, end, tickers, table: { pooled: metrics, cross_section: across } }: EvaluatedBlock,
  models: readonly ScoreModel[],
  pooledRows: number | undefined,
): OrderedJson {
  return {
    start: formatDay(start),
    end: formatDay(end),
    fit_rows: pooledRows ?? models.reduce((sum, { fitRows }) => sum + fitRows, 0),
    tickers,
    stand_ins: models.filter(({ isStandIn }) => isStandIn).length,
    n: metrics.n,
    r2_zero: metrics.r2_zero,
    hit_rate: metrics.hit_rate,
    dates: across.dates,
    ic_mean: across.ic_mean,
    rank_ic_mean: across.rank_ic_mean,
  } satisfies Members<Refits["blocks"][number]>;
}

function tickerOf(
  ticker: FittedTicker,
  blocks: readonly EvaluatedBlock[],
  { shrinkage }: { readonly shrinkage: ShrinkageChoice },
): OrderedJson {
  const models = new Map(ticker.models.map((model) => [model.block, model]));
  const byBlock = (value: (block: number) => number) =>
    blocks.map((_, b) => (models.has(b) ? value(b) : null));
  return {
    label_means: byBlock((b) => models.get(b)!.labelMean),
    ...(shrinkage === "none" ? {} : { factors: byBlock((b) => blocks[b]!.factors.get(ticker.ticker)!) }),
    ...importancesOf(ticker),
  } satisfies Members<Omit<Refits["by_ticker"][string], "importances" | "factors">>;
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
