/** `prepare` with faults that the check of preparation has to find. */
import { readFileSync, writeFileSync } from "node:fs";
import { preparePrices } from "../../prepare/prepare-prices.ts";
import type { Prepare } from "./prepared-prices.ts";

type Features = Record<string, Record<string, (number | null)[]>>;

/** A fault that is planted into the features that the correct one has written. */
function faultyFeatures(plant: (features: Features) => void): Prepare {
  return async (request) => {
    const blobs = await preparePrices(request);
    const blob = JSON.parse(readFileSync(blobs.featurePath, "utf8"));
    plant(blob.features);
    writeFileSync(blobs.featurePath, JSON.stringify(blob));
    return blobs;
  };
}

/** A feature of one ticker is the mean of a row and the next one. */
export function centredFeature(ticker: string, feature: string): Prepare {
  return faultyFeatures((features) => {
    const own = features[ticker]![feature]!;
    features[ticker]![feature] = own.map((value, i) => value && (value + (own[i + 1] ?? value)) / 2);
  });
}

/** A feature of every ticker minus its mean over the whole sample. */
export function centredOnSample(feature: string): Prepare {
  return faultyFeatures((features) => {
    for (const columns of Object.values(features)) {
      const there = columns[feature]!.filter((value) => value !== null);
      const mean = there.reduce((sum, value) => sum + value, 0) / there.length;
      columns[feature] = columns[feature]!.map((value) => value && value - mean);
    }
  });
}
