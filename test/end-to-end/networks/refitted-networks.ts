/** Markets and configs for networks that `refit_every` retrains for each block of dates, and what their outputs report about a block. */
import type { Architecture } from "../../../src/contract/config/networks.ts";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import type { Market } from "../markets/market.ts";
import { dirtyPanelMarket, lateListings, learningUntil, panelMarket } from "../markets/panel-market.ts";
import { networkConfig, runNetworkJob, type Sections } from "./network-jobs.ts";

/** All cases in the release tier, and in `npm test` those of the joint network that trains in the least time. */
export function sampled<T extends readonly [Architecture, ...unknown[]]>(cases: readonly T[]): readonly T[] {
  return WHOLE_MATRIX ? cases : cases.filter(([option]) => option === "portfolio_lstm");
}

/** 60 dates to forecast. */
export const MARKET = learningUntil("2021-06-04", panelMarket());
export const DIRTY = learningUntil("2021-05-15", lateListings(dirtyPanelMarket()));
/**
 * At the cut KO has 30 fit rows and too few windows, XOM has fewer rows, and 10 is not listed. For these three, networks of one
 * ticker have enough windows at the second, the second and the third block; joint ones, which validate on the last dates of all,
 * at the second, the third and no block.
 */
export const LISTINGS = listedFrom({ KO: 70, XOM: 85, 10: 105 }, MARKET);

/** @param first by ticker, the number of its first price date. */
export function listedFrom(first: Readonly<Record<string, number>>, market: Market): Market {
  const prices = [...market.prices].map(
    ([ticker, cells]) => [ticker, cells.map((cell, i) => (i < (first[ticker] ?? 0) ? null : cell))] as const,
  );
  return { ...market, prices: new Map(prices) };
}

export function config(option: Architecture, settings: object, sections: Sections = {}): string {
  const asked = JSON.parse(networkConfig(option, sections));
  Object.assign(asked["NN params"]["Dot prediction"], settings);
  return JSON.stringify(asked);
}

export async function jobOn(market: Market, text: string, workers = 1): Promise<OutputBlob> {
  const { output } = await runNetworkJob(await writeMarket(market), text, workers);
  assertValid("output-blob", output);
  return output;
}

export const RELATIVE = { target: "relative", cross_section: true };

/** Forecasts of the dates from `start` to before `end`, by ticker. */
export function between(start: string, end: string | undefined, { forecasts }: OutputBlob) {
  return Object.entries(forecasts).map(([ticker, { dates, predicted }]) => [
    ticker,
    dates.flatMap((date, i) =>
      date >= start && (end === undefined || date < end) ? [[date, predicted[i]!]] : [],
    ),
  ]);
}

/** By ticker, the block that it joins. */
export function joinsOf({ refits }: OutputBlob) {
  const { blocks, by_ticker } = refits!;
  return Object.fromEntries(
    Object.entries(by_ticker).flatMap(([ticker, { joins }]) =>
      joins === undefined ? [] : [[ticker, blocks.findIndex(({ start }) => start === joins)]],
    ),
  );
}

export const EVERY = 25;
