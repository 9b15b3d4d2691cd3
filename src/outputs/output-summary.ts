import { MucastError } from "../contract/errors/errors.ts";
import { nameOfChoice } from "../contract/output/choice.ts";
import type { OutputBlob } from "../contract/output/output-blob.ts";

type Lists = "dates" | "predicted" | "realised";
type TestedTicker = NonNullable<OutputBlob["cross_validation"]>[string];

/** An output without its lists of forecasts. */
export interface OutputSummary extends Omit<OutputBlob, "forecasts" | "cross_validation"> {
  readonly cross_validation?: Readonly<Record<string, Omit<TestedTicker, Lists>>>;
}

export function summaryOf({ forecasts: _, cross_validation, ...rest }: OutputBlob): OutputSummary {
  if (cross_validation === undefined) return rest;
  const tickers = Object.entries(cross_validation).map(([ticker, tested]) => {
    const { dates: _dates, predicted: _predicted, realised: _realised, ...figures } = tested;
    return [ticker, figures] as const;
  });
  return { ...rest, cross_validation: Object.fromEntries(tickers) };
}

/** @throws MucastError invalid_data if the forecasts of two outputs are returns that begin at different closes. */
export function requireOneDelay(outputs: readonly { readonly name: string; readonly delay: number }[]): void {
  const [first] = outputs;
  const other = outputs.find(({ delay }) => delay !== first!.delay);
  if (other === undefined) return;
  const message = `${first!.name} and ${other.name} cannot be compared: their config has delay ${first!.delay} and ${other.delay}, so they forecast different returns`;
  throw new MucastError("invalid_data", message, { source: other.name, value: other.delay });
}

/** The name of the model that made the forecasts, or of the choice. */
export function modelNameOf({ model, operation, pooled, choice }: OutputSummary): string {
  if (choice !== undefined) return nameOfChoice(choice.candidates.length);
  if (typeof model.model !== "string") return operation;
  return pooled === undefined ? model.model : `pooled ${model.model}`;
}
