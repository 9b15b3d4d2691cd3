import type { VerdictState } from "../../src/contract/output/verdict.ts";
import { verdictOf } from "../../src/evaluate/verdict/verdict.ts";
import type { Table } from "../table.ts";
import { firstDates, marketFeatures, NOISES, type NoiseName, ridgeMarket } from "./skill-markets.ts";

const TICKERS = [5, 20, 60, 200];
const DATES = [75, 250, 504, 1_000];
const INFORMED = [0.02, 0.05, 0.1];
/** The number of markets of each kind of noise. */
const NULL_MARKETS = 400;
const INFORMED_MARKETS = 100;
const NAMES = Object.keys(NOISES) as NoiseName[];

/** Shares of the markets of one cell. */
interface Shares {
  /** Without `no_skill`. */
  readonly skilled: number;
  /** By the plain test: only the t of the mean IC. */
  readonly plain: number;
}

/**
 * How often `no_skill` is absent: by chance without a signal, and correctly with one. About half an hour on one core; does not
 * depend on the machine.
 */
export function skillPowerTable(): Table {
  const rows: string[][] = [];
  for (const tickers of TICKERS) {
    const features = marketFeatures(tickers, Math.max(...DATES), 7);
    const cells = [0, ...INFORMED].map((ic) => NAMES.map((noise) => sharesBy(features, noise, ic)));
    for (const [d, dates] of DATES.entries()) {
      const [size, ...power] = cells.map((byNoise) => byNoise.map((byDates) => byDates[d]!));
      const sizes = (["skilled", "plain"] as const).map((name) => rangeOf(size!, name));
      rows.push([`${tickers}`, `${dates}`, ...sizes, ...power.map(powerCell)]);
      process.stderr.write(`${rows.at(-1)!.join("  ")}\n`);
    }
  }
  return {
    title:
      "share of jobs without no_skill, in brackets by the t of the mean IC alone: range over noises without signal; else mean without drift; drift",
    header: ["tickers", "dates", "no signal", "plain", ...INFORMED.map((ic) => `IC ${ic}`)],
    rows,
  };
}

function rangeOf(shares: readonly Shares[], name: keyof Shares): string {
  const values = shares.map((share) => share[name]);
  return `${percent(Math.min(...values))} to ${percent(Math.max(...values))}`;
}

/** @param shares in the order of NAMES. */
function powerCell(shares: readonly Shares[]): string {
  const part = (isDrift: boolean) => {
    const kinds = shares.filter((_, i) => (NAMES[i] === "drift") === isDrift);
    return `${percent(meanOf(kinds, "skilled"))} (${percent(meanOf(kinds, "plain"))})`;
  };
  return `${part(false)}; ${part(true)}`;
}

function meanOf(shares: readonly Shares[], name: keyof Shares): number {
  return shares.reduce((sum, share) => sum + share[name], 0) / shares.length;
}

/** @returns by DATES. */
function sharesBy(features: ReturnType<typeof marketFeatures>, noise: NoiseName, ic: number): Shares[] {
  const markets = ic === 0 ? NULL_MARKETS : INFORMED_MARKETS;
  const counts = DATES.map(() => ({ skilled: 0, plain: 0 }));
  for (let seed = 0; seed < markets; seed++) {
    const market = ridgeMarket(features, Math.max(...DATES), { noise, ic, seed: 1_000 + seed });
    for (const [d, dates] of DATES.entries()) {
      const forecasts = firstDates(market, dates);
      const { state, judged } = verdictOf([{ rows: "out_of_fold", forecasts }], undefined);
      const { t, quantile } = judged[0]!.order;
      if (SKILLED.has(state)) counts[d]!.skilled++;
      if (t !== null && quantile !== null && t >= quantile) counts[d]!.plain++;
    }
  }
  return counts.map(({ skilled, plain }) => ({ skilled: skilled / markets, plain: plain / markets }));
}

const SKILLED: ReadonlySet<VerdictState> = new Set<VerdictState>(["skill", "oversized"]);

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
