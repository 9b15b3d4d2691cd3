import { rm } from "node:fs/promises";
import { join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { choiceFaults } from "../../evaluate/choice/prequential.ts";
import { type AuditCheck, type CheckResult, type Finding, jobSettings, notRun, ranCheck } from "../check.ts";
import { finding } from "../findings.ts";
import { outputMember, outputParts } from "../job/output-parts.ts";
import { type Compared, compareOutputs, type Difference } from "./compare-outputs.ts";

/** Codes of a job without any ticker with forecasts; the job on the whole blobs has one. */
const NO_TICKER: ReadonlySet<string> = new Set([
  "insufficient_history",
  "sparse_prices",
  "few_tickers",
  "all_failed",
]);

/**
 * Cuts both blobs after dates past the cut and runs the job on each pair: nothing dated up to such a date may change. Only one cut is
 * on disk at a time. The candidates that a job chose must follow from the losses that its output records.
 */
export const truncation: AuditCheck = {
  name: "truncation",
  cost: ({ truncations, quick }) =>
    `${counted(truncations + 1, "job")}${quick ? " with the quick model" : ""}; each reads both blobs`,
  async run(audit, { job, workFolder, signal, onStep }): Promise<CheckResult> {
    const whole = await job.whole();
    if ("reason" in whole) return notRun(whole.reason);
    const { learningEnd, isChosen, cutAfter } = whole.plan;
    const { delay } = jobSettings(audit);
    const changes = new Changes();
    const compared: Compared[] = [];
    /** Cuts for which the job has no forecast. */
    const notCompared: { date: string; code: string; message: string }[] = [];
    const compareCut = async (day: Day): Promise<void> => {
      const date = formatDay(day);
      const folder = join(workFolder, date);
      try {
        const pair = { whole: whole.output, cut: await whole.runCut(day, folder), date, delay };
        compared.push(
          await compareOutputs(pair, (...difference) => changes.add(date, ...difference), signal),
        );
      } catch (error) {
        if (!(error instanceof MucastError)) throw error;
        const { code, message } = error;
        if (code === "no_forecast") notCompared.push({ date, code, message });
        else if (NO_TICKER.has(code)) changes.addNoTicker(date, message);
        else throw error;
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    };
    const jobs = cutAfter.length + 1;
    onStep?.(1, jobs);
    for (const [i, day] of cutAfter.entries()) {
      await compareCut(day);
      onStep?.(i + 2, jobs);
    }
    const findings = [...changes.findings(), ...(await chosenMembers(whole.output, signal))];
    if (compared.length === 0 && findings.length === 0)
      return notRun(`the job has no forecast on any cut: ${notCompared[0]!.message}`);
    const facts = {
      learning_end: formatDay(learningEnd),
      learning_end_chosen: isChosen,
      cut_after: cutAfter.map(formatDay),
      jobs,
      tickers: Math.max(0, ...compared.map(({ tickers }) => tickers)),
      forecasts: compared.reduce((sum, { forecasts }) => sum + forecasts, 0),
      not_compared: notCompared,
    };
    return ranCheck({ tests: compared.reduce((sum, { values }) => sum + values, 0), findings, facts });
  },
};

/** The differences of one kind of one ticker, over all cuts. */
interface Change {
  readonly ticker: string;
  readonly first: Difference;
  /** The last date of the blobs in the first difference. */
  readonly date: string;
  count: number;
  readonly cuts: Set<string>;
  /** Largest absolute difference of two numbers; undefined without two numbers. */
  largest: number | undefined;
}

/** Collects differences by ticker and kind: one finding each, whatever their number. */
export class Changes {
  readonly #changes = new Map<string, Change>();
  readonly #withoutTicker: Finding[] = [];

  add(date: string, ticker: string, difference: Difference): void {
    const key = `${difference.code} ${ticker}`;
    const created = {
      ticker,
      first: difference,
      date,
      count: 0,
      cuts: new Set<string>(),
      largest: undefined,
    };
    const change: Change = this.#changes.get(key) ?? created;
    this.#changes.set(key, change);
    change.count += 1;
    change.cuts.add(date);
    const { whole, cut } = difference;
    if (typeof whole === "number" && typeof cut === "number")
      change.largest = Math.max(change.largest ?? 0, Math.abs(whole - cut));
  }

  /** The job has forecasts with the whole blobs, and none with the cut ones. */
  addNoTicker(date: string, message: string): void {
    this.#withoutTicker.push(
      finding("ticker_changed", {
        message: `No ticker is left if the blobs end after ${date}: ${message}`,
        evidence: { cut_after: [date] },
      }),
    );
  }

  findings(): Finding[] {
    const found = [...this.#changes.values()].map(({ ticker, first, date, count, cuts, largest }) => {
      const { code, at, whole, cut } = first;
      const message =
        code === "ticker_changed"
          ? `${ticker} has ${at} ${whole === null ? "only with the blobs cut after" : "with the whole blobs and none with those cut after"} ${date}`
          : `${ticker}: ${counted(count, "value")} differ where the blobs end after ${date}; the first is ${at}: ${whole} with the whole blobs, ${cut} with the cut ones`;
      const size = largest === undefined ? {} : { largest_difference: largest };
      const evidence = { at, whole, cut, values: count, cut_after: [...cuts], ...size };
      return finding(code, { ticker, message, evidence });
    });
    return [...this.#withoutTicker, ...found];
  }
}

/** Chooses the candidates of an output again from the losses that it records. @returns one finding if any of its members differ. */
async function chosenMembers(path: string, signal: AbortSignal): Promise<Finding[]> {
  const choice = await outputMember(path, "choice", signal);
  if (choice === undefined) return [];
  const foldDates = new Set<string>();
  for await (const { part, value } of outputParts(path, signal))
    if (part === "cross_validation") for (const fold of value.folds) foldDates.add(fold.test_start);
  const faults = choiceFaults(choice, [...foldDates]);
  if (faults.length === 0) return [];
  const { at, recorded, recomputed } = faults[0]!;
  const others = faults.length === 1 ? "" : `; ${counted(faults.length - 1, "more difference")}`;
  const message = `${at} has ${recorded || "none"}, and the losses support ${recomputed}${others}`;
  const evidence = { at, recorded, recomputed, differences: faults.length };
  return [finding("choice_unsupported", { message, evidence })];
}
