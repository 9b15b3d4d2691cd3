import { rm } from "node:fs/promises";
import { join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { type AuditCheck, type AuditContext, type CheckResult, notRun, ranCheck } from "../check.ts";
import type { WholeRun } from "../job/audited-job.ts";
import { Changes } from "./changes.ts";
import { type Compared, compareOutputs } from "./compare-outputs.ts";

/**
 * Cuts both blobs after dates past the cut and runs the job on each pair: nothing dated up to such a date may change. Only one cut is
 * on disk at a time.
 */
export const truncation: AuditCheck = {
  name: "truncation",
  cost: ({ truncations, quick }) =>
    `${counted(truncations + 1, "job")}${quick ? " of the quick model" : ""}, and as many readings of both blobs`,
  async run(_, context) {
    const whole = await context.job.whole();
    return "reason" in whole ? notRun(whole.reason) : await new Cuts(context, whole).compare();
  },
};

/** A cut for which the job has no forecast, so there is nothing to compare. */
interface NotCompared {
  readonly date: string;
  readonly code: string;
  readonly message: string;
}

/** Codes of a job without any ticker with forecasts; the job on the whole blobs has one. */
const NO_TICKER: ReadonlySet<string> = new Set(["insufficient_history", "sparse_prices", "all_failed"]);

/** The job on each pair of cut blobs, compared with the one on the whole blobs. */
class Cuts {
  readonly #context: AuditContext;
  readonly #whole: WholeRun;
  readonly #changes = new Changes();
  readonly #compared: Compared[] = [];
  readonly #notCompared: NotCompared[] = [];

  constructor(context: AuditContext, whole: WholeRun) {
    this.#context = context;
    this.#whole = whole;
  }

  async compare(): Promise<CheckResult> {
    const { cutAfter } = this.#whole.plan;
    const jobs = cutAfter.length + 1;
    this.#context.onStep?.(1, jobs);
    for (const [i, day] of cutAfter.entries()) {
      await this.#compareCut(day);
      this.#context.onStep?.(i + 2, jobs);
    }
    const findings = this.#changes.findings();
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
      this.#compared.push(
        await compareOutputs({ whole: this.#whole.output, cut, date }, onDifference, signal),
      );
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
