import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { sourceOf } from "./chunks.testing.ts";
import { readFeatures } from "./read-blob.ts";
import { readPrices } from "./read-prices.ts";

const page = await readFile(new URL("../../docs/blobs.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, text]) => text!);

async function tickersOf(text: string): Promise<readonly string[]> {
  const workFolder = "/nowhere";
  const source = () => sourceOf([Buffer.from(text)]);
  if (!text.includes("mom_5")) return (await readPrices(source(), { workFolder })).tickers;
  const tickers: string[] = [];
  for await (const { ticker, columns, values } of readFeatures(source(), { workFolder })) {
    assert.equal(columns[0], "mom_5");
    assert.ok(values[0]! > 0);
    tickers.push(ticker);
  }
  return tickers;
}

describe("docs/blobs.md", () => {
  it("has examples that are read as it says", async () => {
    assert.ok(examples.length > 5, `${examples.length} examples`);
    for (const text of examples) assert.equal((await tickersOf(text))[0], "AAPL", text);
  });
});
