import { MucastApiError, type MucastClient } from "../../client/index.ts";
import type { ViewContext } from "../view.ts";
import type { ReadyInputs } from "./data-section.ts";

/** 30 tickers, three years, which every service serves below `/examples/`. */
const FEATURES = "feature_engine_sp500.parquet";
const PRICES = "data_extractor_sp500.parquet";

const ML = { model: "ridge", fit: "pooled", target: "relative", shrinkage: "pooled" };

/** Stores the example data as the caller's blobs, unless the caller has blobs of these names. */
export async function storeExample(context: ViewContext): Promise<Required<ReadyInputs>> {
  const [feature_url, data_extractor_url] = await Promise.all([
    storeOne(context, FEATURES),
    storeOne(context, PRICES),
  ]);
  return { feature_url, data_extractor_url };
}

/** Runs a job on the example data. @returns the id of its operation. */
export async function runExample(context: ViewContext): Promise<string> {
  const payload = { ...(await storeExample(context)), config: { "ML params": ML }, tags: ["example"] };
  const { id } = await context.client.runMlJob(payload, { signal: context.signal });
  return id;
}

async function storeOne({ client, baseUrl, signal }: ViewContext, name: string): Promise<string> {
  const answer = await fetch(`${baseUrl}examples/${name}`, { signal });
  if (!answer.ok) throw new TypeError(`${name} answered ${answer.status}`);
  try {
    return (await client.putBlob(name, await answer.arrayBuffer(), { isNew: true, signal })).url;
  } catch (error) {
    if (!(error instanceof MucastApiError && error.code === "precondition_failed")) throw error;
    return storedUrl(client, name, signal);
  }
}

/** The URL of a blob that the caller has stored before. */
async function storedUrl(client: MucastClient, name: string, signal: AbortSignal): Promise<string> {
  for await (const blob of client.allBlobs({ limit: 100, signal })) if (blob.name === name) return blob.url;
  throw new TypeError(`${name} is stored, but in no list`);
}
