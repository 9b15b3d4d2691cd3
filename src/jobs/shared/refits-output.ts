import type { ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import type { BlockSkill } from "../../evaluate/block-skill.ts";
import type { OrderedJson } from "./ordered-json.ts";

/** A model, and the score rows of one block that it forecasts. */
export interface ScoreModel {
  readonly block: number;
  /** Positions [from, to) in the score rows. */
  readonly from: number;
  readonly to: number;
  /** The number of the ticker's rows that the model learned from. */
  readonly fitRows: number;
  /** Their mean label, log-return; 0 without a row. */
  readonly labelMean: number;
  /** Whether the fit of the block failed, so that this is the model of an earlier block. */
  readonly isStandIn: boolean;
}

export interface EvaluatedBlock extends BlockSkill {
  readonly start: Day;
  /** The factors by which shrinkage multiplies forecasts, by ticker. */
  readonly factors: ReadonlyMap<string, number>;
}

type Refits = NonNullable<OutputBlob["refits"]>;
type Members<Part> = Readonly<Record<keyof Part, OrderedJson>>;

interface RefittedTicker {
  readonly ticker: string;
  readonly models: readonly ScoreModel[];
  /** For a late ticker, the first date of the block that it joins. */
  readonly joins?: Day;
}

/**
 * The blocks of an output's `refits`.
 * @param fitted all tickers.
 * @param blockRows with one model for all tickers, the number of rows that it learned from, by block; by default taken from the tickers'
 *   models.
 */
export function refitBlocksOf(
  blocks: readonly EvaluatedBlock[],
  fitted: readonly RefittedTicker[],
  blockRows: readonly number[] = [],
): OrderedJson[] {
  const models = Map.groupBy(
    fitted.flatMap((ticker) => ticker.models),
    ({ block }) => block,
  );
  return blocks.map((block, b) => blockOf(block, models.get(b) ?? [], blockRows[b]));
}

function blockOf(
  { start, end, tickers, table: { pooled: metrics, cross_section: across } }: EvaluatedBlock,
  models: readonly ScoreModel[],
  blockRows: number | undefined,
): OrderedJson {
  return {
    start: formatDay(start),
    end: formatDay(end),
    fit_rows: blockRows ?? models.reduce((sum, { fitRows }) => sum + fitRows, 0),
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

/** The entry of a ticker in `refits.by_ticker`, without importances. */
export function tickerRefitsOf(
  { ticker, models, joins }: RefittedTicker,
  blocks: readonly EvaluatedBlock[],
  { shrinkage }: { readonly shrinkage: ShrinkageChoice },
) {
  const own = new Map(models.map((model) => [model.block, model]));
  const byBlock = (value: (block: number) => number) => blocks.map((_, b) => (own.has(b) ? value(b) : null));
  return {
    ...(joins === undefined ? {} : { joins: formatDay(joins) }),
    label_means: byBlock((b) => own.get(b)!.labelMean),
    ...(shrinkage === "none" ? {} : { factors: byBlock((b) => blocks[b]!.factors.get(ticker)!) }),
  } satisfies Members<Omit<Refits["by_ticker"][string], "importances" | "factors" | "joins">>;
}
