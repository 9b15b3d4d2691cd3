import { rm } from "node:fs/promises";
import { join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { delayOf } from "../audit-inputs.ts";
import {
  type AuditCheck,
  type AuditContext,
  type CheckResult,
  type Finding,
  notRun,
  ranCheck,
} from "../check.ts";
import { finding } from "../findings.ts";
import type { FullRun } from "../job/audited-job.ts";
import { chosenMembersFindings } from "./chosen-members.ts";
import { type Compared, compareOutputs, type Difference } from "./compare-outputs.ts";

/**
 * Cuts both blobs after dates past the cut and runs the job on each pair: nothing dated up to such a date may change. Only one cut is
 * on disk at a time. The candidates that a job chose must follow from the losses that its output records.
 */
export const truncation: AuditCheck = {
  name: "truncation",
  cost: ({ truncations, quick }) =>
    `${counted(truncations + 1, "job")}${quick ? " with the quick model" : ""}; each reads both blobs`,
  async run(audit, context) {
    const whole = await context.job.whole();
    return "reason" in whole
      ? notRun(whole.reason)
      : await new Cuts(context, whole, delayOf(audit)).compare();
  },
};

/** A cut for which the job has no forecast, so there is nothing to compare. */
interface NotCompared {
  readonly date: string;
  readonly code: string;
  readonly message: string;
}

/** Codes of a job without any ticker with forecasts; the job on the whole blobs has one. */
const NO_TICKER: ReadonlySet<string> = new Set([
  "insufficient_history",
  "sparse_prices",
  "few_tickers",
  "all_failed",
]);

/** The job on each pair of cut blobs, compared with the one on the whole blobs. */
class Cuts {
  readonly #context: AuditContext;
  readonly #whole: FullRun;
  readonly #delay: number;
  readonly #changes = new Changes();
  readonly #compared: Compared[] = [];
  readonly #notCompared: NotCompared[] = [];

  constructor(context: AuditContext, whole: FullRun, delay: number) {
    this.#context = context;
    this.#whole = whole;
    this.#delay = delay;
  }

  async compare(): Promise<CheckResult> {
    const { cutAfter } = this.#whole.plan;
    const jobs = cutAfter.length + 1;
    this.#context.onStep?.(1, jobs);
    for (const [i, day] of cutAfter.entries()) {
      await this.#compareCut(day);
      this.#context.onStep?.(i + 2, jobs);
    }
    const chosen = await chosenMembersFindings(this.#whole.output, this.#context.signal);
    const findings = [...this.#changes.findings(), ...chosen];
    if (this.#compared.length === 0 && findings.length === 0) {
      return notRun(`the job has no forecast on any cut: ${this.#notCompared[0]!.message}`);
    }
    const tests = this.#compared.reduce((sum, { values }) => sum + values, 0);
    return ranCheck({ tests, findings, facts: this.#facts() });
  }

  #facts(): CheckResult["facts"] {
    const { learningEnd, isChosen, cutAfter } = this.#whole.plan;
    return {
      learning_end: formatDay(learningEnd),
      learning_end_chosen: isChosen,
      cut_after: cutAfter.map(formatDay),
      jobs: cutAfter.length + 1,
      tickers: Math.max(0, ...this.#compared.map(({ tickers }) => tickers)),
      forecasts: this.#compared.reduce((sum, { forecasts }) => sum + forecasts, 0),
      not_compared: this.#notCompared.map((each) => ({ ...each })),
    };
  }

  async #compareCut(day: Day): Promise<void> {
    const { workFolder, signal, job } = this.#context;
    const date = formatDay(day);
    const folder = join(workFolder, date);
    try {
      const cut = await job.runCut(day, this.#whole, folder);
      const onDifference = this.#changes.add.bind(this.#changes, date);
      const pair = { whole: this.#whole.output, cut, date, delay: this.#delay };
      this.#compared.push(await compareOutputs(pair, onDifference, signal));
    } catch (error) {
      if (!(error instanceof MucastError)) throw error;
      const { code, message } = error;
      if (code === "no_forecast") this.#notCompared.push({ date, code, message });
      else if (NO_TICKER.has(code)) this.#changes.addNoTicker(date, message);
      else throw error;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

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
    let change = this.#changes.get(key);
    if (change === undefined) {
      change = { ticker, first: difference, date, count: 0, cuts: new Set(), largest: undefined };
      this.#changes.set(key, change);
    }
    change.count += 1;
    change.cuts.add(date);
    const { whole, cut } = difference;
    if (typeof whole !== "number" || typeof cut !== "number") return;
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
    return [...this.#withoutTicker, ...[...this.#changes.values()].map(findingOf)];
  }
}

function findingOf({ ticker, first, date, count, cuts, largest }: Change): Finding {
  const { code, at, whole, cut } = first;
  const message =
    code === "ticker_changed"
      ? `${ticker} has ${at} ${whole === null ? "only with the blobs cut after" : "with the whole blobs and none with those cut after"} ${date}`
      : `${ticker}: ${counted(count, "value")} differ where the blobs end after ${date}; the first is ${at}: ${whole} with the whole blobs, ${cut} with the cut ones`;
  return finding(code, {
    ticker,
    message,
    evidence: {
      at,
      whole,
      cut,
      values: count,
      cut_after: [...cuts],
      ...(largest === undefined ? {} : { largest_difference: largest }),
    },
  });
}
