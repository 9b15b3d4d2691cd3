/** Small inputs of jobs, and payloads that name them. */
import { cleanMarket, featureBlob, type Market, priceBlob } from "../end-to-end/markets/market.ts";
import type { Api } from "./api.testing.ts";

/** A regressor that is fitted in a moment. */
export const RIDGE = '{"ML params": {"model": "ridge", "n_splits": 2}}';

/** The first `count` tickers of a market of five. */
export function market(count = 2): Market {
  const whole = cleanMarket("2021-10-29");
  return { ...whole, features: new Map([...whole.features].slice(0, count)) };
}

export const FEATURES = featureBlob(market());
export const PRICES = priceBlob(market());

/** JSON text of a payload; the config keeps its spelling. */
export function payload(base: string, id: string, config = RIDGE, query = ""): string {
  const url = (kind: string) => JSON.stringify(`${base}/data/${kind}_${id}.json${query}`);
  return `{"feature_url": ${url("feature_engine")}, "data_extractor_url": ${url("data_extractor")}, "config": ${config}}`;
}

/** Uploads both blobs of the small market. */
export async function putInputs(api: Api, id: string): Promise<void> {
  for (const [kind, text] of [
    ["feature_engine", FEATURES],
    ["data_extractor", PRICES],
  ] as const) {
    const answer = await api.put(`${kind}_${id}.json`, text);
    if (answer.status !== 201 && answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
  }
}
