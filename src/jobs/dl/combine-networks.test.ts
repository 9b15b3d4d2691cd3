import assert from "node:assert/strict";
import { test } from "node:test";
import type { Choice } from "../../contract/config/choice/candidates.ts";
import { type DlSettings, parseDlSettings } from "../../contract/config/dl-settings.ts";
import { noise } from "../../evaluate/choice/choice.testing.ts";
import { CandidateFits } from "../shared/choice/combine-candidates.ts";
import type { HeldOutPart } from "../shared/modelled-ticker.ts";
import { combineNetworks, testedParts } from "./combine-networks.ts";
import { judgedBy, type TrainedTicker } from "./trained-ticker.ts";

const TICKER = "AAPL";
const { settings } = parseDlSettings(
  JSON.stringify({ "NN params": { "Dot prediction": { "current option": "mlp" } } }),
);
const CHOICE: Choice<DlSettings> = {
  rule: "best",
  measure: "squared_error",
  seed: 42,
  candidates: ["own", "other"].map((label) => ({ label, settings })),
};

/** Forecasts of `rows` days from `first` on, which are the labels times `skill`. */
function part(first: number, rows: number, skill: number): HeldOutPart {
  const next = noise(first);
  const realised = Float64Array.from({ length: rows }, () => next());
  return {
    ticker: TICKER,
    days: Int32Array.from({ length: rows }, (_, row) => first + row),
    labelDays: Int32Array.from({ length: rows }, (_, row) => first + row + 1),
    realised,
    predicted: realised.map((y) => skill * y),
    trainingMean: new Float64Array(rows),
    spans: [],
  };
}

/** A ticker whose network forecasts with this skill and whose ensemble has this spread. */
function trained(skill: number, spread: number | undefined): TrainedTicker {
  const { days, labelDays, realised, predicted } = part(200, 5, skill);
  return {
    ticker: TICKER,
    dates: { ticker: TICKER, lastRowDay: 204, lastPriceDay: 204 } as unknown as TrainedTicker["dates"],
    fitLabels: new Float64Array(0),
    ...judgedBy(part(100, 60, skill), part(160, 40, skill)),
    labelSquare: 1,
    score: { days, labelDays, labels: realised, volatility: realised, predicted, spans: [] },
    models: [],
    rows: {} as TrainedTicker["rows"],
    splits: {} as TrainedTicker["splits"],
    warnings: [],
    listed: [],
    ...(spread === undefined ? {} : { spread }),
  };
}

function combined(all: readonly TrainedTicker[]): TrainedTicker {
  const fits = new CandidateFits<DlSettings, TrainedTicker>(testedParts);
  for (const [c, own] of all.entries())
    fits.add(CHOICE.candidates[c]!, [own], { failures: [], warnings: [] });
  const first = {
    training: new Map(),
    blockTraining: new Map(),
    failures: [],
    warnings: [],
    blockRows: [],
    listed: [],
  };
  return combineNetworks(fits, first, CHOICE).tickers[0]!;
}

test("a single member keeps the spread of its own ensemble", () => {
  const best = trained(0.5, 0.02);
  const { score, spread } = combined([trained(0, 0.01), best]);
  assert.deepEqual(score.predicted, best.score.predicted);
  assert.equal(spread, 0.02);
  assert.equal(combined([trained(0, 0.01), trained(0.5, undefined)]).spread, undefined);
});
