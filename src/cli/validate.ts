import type { Command } from "commander";
import { blobPolicy } from "../blob/policy.ts";
import type { JobPreview, TickerPreview } from "../contract/api/job-preview.ts";
import { requestedWindow, requestedWindowSchema } from "../contract/config/payload-schemas.ts";
import { counted, printable } from "../contract/errors/wording.ts";
import { returnsText } from "../contract/output/later-close.ts";
import { namedFailure } from "../contract/problems/problem.ts";
import { warningEntry } from "../contract/problems/warnings.ts";
import { validateJob } from "../jobs/validate-job.ts";
import { addCommand, JOB_OPTIONS, membersOf } from "./command.ts";
import { jobInputs, jobResources, withReporter } from "./job-inputs.ts";
import { table } from "./terminal/output-table.ts";

/** A preview needs no cluster. */
const { engine: _, engine_insecure: __, ...OPTIONS } = JOB_OPTIONS;

export function addValidate(program: Command): void {
  addCommand(program, "validate", {
    about: "show what a job reads from both blobs and the config, without training",
    options: OPTIONS,
    help: `
Example:
  mucast validate --feature-url blobs --config ridge

stdout carries a table, in which tickers with the same figures share a row, or one JSON object with every ticker with --log json;
stderr carries the warnings, of many tickers with a code the first three, or all with --log json. A config with
"NN params" and no "ML params" is for run_dl_job. If the job would find nothing to learn or to forecast, its error follows, with
its exit code.`,
    run: (flags) =>
      withReporter(flags, { tickersShown: 3 }, async (reporter, { report, signal }) => {
        const { workers } = jobResources(flags);
        const window = requestedWindow(membersOf(requestedWindowSchema, flags, OPTIONS));
        const inputs = await jobInputs(flags, reporter);
        const policy = blobPolicy({ ...process.env, BLOB_URL: inputs.blobUrl });
        const request = { ...inputs, window, id: "validate" };
        const { error, ...preview } = await validateJob(request, { workers, policy, report, signal });
        for (const warning of preview.warnings)
          if (!warningEntry(warning.code)?.isNote) reporter.warn(warning);
        process.stdout.write(flags.log === "json" ? `${JSON.stringify(preview)}\n` : asText(preview));
        if (error !== undefined) throw error;
      }),
  });
}

function asText({ model, window, ...preview }: JobPreview): string {
  const { tickers, failures, pooled, refits, choice, estimate } = preview;
  const { start, end, learning_end, as_of, delay } = window;
  /** MB are 10^6 bytes. */
  const mb = (bytes: number, digits = 1) => `${(bytes / 1e6).toFixed(digits)} MB`;
  const lines = [
    `model   ${model.name} ${JSON.stringify(model.params)}`,
    `window  ${start} to ${end}, learning ends ${learning_end ?? "with the window"}, forecasts as of ${as_of}`,
  ];
  if (delay !== undefined) lines.push(`delay   ${delay}: ${returnsText(delay)}`);
  if (pooled) {
    const { rows, fit_rows, columns, bytes, fit_bytes, folds } = pooled;
    const fits = `${fit_rows} rows to fit, ${folds} folds, about ${mb(fit_bytes, 0)} of memory a fit`;
    lines.push(`pooled  ${rows} rows x ${columns} columns, ${mb(bytes)}; ${fits}`);
  }
  if (refits) {
    const scored = `${counted(refits.blocks, "block")} of score rows`;
    lines.push(
      refits.fit_bytes === undefined
        ? `fits    ${refits.fits}, of folds and of ${scored}`
        : `fits    ${counted(refits.fits, "network")} for ${scored}, each on up to ${mb(refits.fit_bytes)} of data`,
    );
  }
  if (choice)
    lines.push(`choice  ${counted(choice.candidates, "candidate")}, ${counted(choice.fits, "fit")}`);
  if (estimate) lines.push(`cost    about ${estimate.seconds} s, ${mb(estimate.matrix_bytes)} a matrix`);
  lines.push("", tickerTable(tickers));
  lines.push(...failures.map((failure) => printable(`skipped: ${failure.code}: ${namedFailure(failure)}`)));
  return `${lines.join("\n")}\n`;
}

/** Rows of the table of tickers. */
const MAX_ROWS = 10;

/** A row for all tickers with the same figures, the largest groups first; the counts between the rows and the dates are the job's. */
function tickerTable(tickers: readonly TickerPreview[]): string {
  const names = Object.keys(tickers[0] === undefined ? {} : countsOf(tickers[0]));
  const groups = [...Map.groupBy(tickers, (ticker) => figuresOf(ticker).join("\0")).values()].sort(
    (a, b) => b.length - a.length,
  );
  const shown = groups.slice(0, MAX_ROWS);
  const rows = shown.map(([first, ...others]) => [
    printable(first!.ticker) + (others.length === 0 ? "" : ` and ${others.length} more`),
    ...figuresOf(first!),
  ]);
  const titles = ["ticker", "features", "fit rows", "score rows", ...names, "first fit", "last fit", "mu"];
  const left = groups.slice(MAX_ROWS).reduce((sum, group) => sum + group.length, 0);
  const more =
    left === 0 ? "" : `\n${counted(left, "further ticker")} with other figures; --log json lists all.`;
  return table(titles, rows) + more;
}

function figuresOf(ticker: TickerPreview): string[] {
  const { features, fit_rows, score_rows, first_fit, last_fit, mu } = ticker;
  const counts = [features, fit_rows, score_rows, ...Object.values(countsOf(ticker))];
  return [...counts.map(String), first_fit, last_fit, mu ? "yes" : "no"];
}

function countsOf({ folds, windows }: TickerPreview): Record<string, number> {
  if (windows === undefined) return { folds: folds ?? 0 };
  const { train, validate, calibrate } = windows;
  return { "train windows": train, validate, calibrate };
}
