import type { Command } from "commander";
import { blobPolicy } from "../blob/policy.ts";
import { type Understanding, validateMlJob } from "../jobs/validate-ml-job.ts";
import { type JobFlags, jobInputs, withJobFlags } from "./job-options.ts";
import { Reporter } from "./reporter.ts";
import { table } from "./table.ts";
import { untilSignal } from "./until-signal.ts";

export function addValidate(program: Command): void {
  withJobFlags(program.command("validate"))
    .description("tell what run_ml_job would understand of both blobs and the config; train nothing")
    .addHelpText(
      "after",
      "\nstdout carries a table, or one JSON object with --log json. Takes the flags of run_ml_job.",
    )
    .action(async (flags: JobFlags) => {
      const { workers, ...inputs } = jobInputs(flags, process.env);
      const reporter = new Reporter({
        format: flags.log,
        quiet: flags.quiet ?? false,
        stream: process.stderr,
      });
      const policy = blobPolicy({ ...process.env, BLOB_URL: inputs.blobUrl });
      const understanding = await untilSignal((signal) =>
        validateMlJob({ ...inputs, id: "validate" }, { workers, policy, report: reporter.report, signal }),
      );
      for (const warning of understanding.warnings) reporter.warn(warning);
      reporter.finish();
      process.stdout.write(
        flags.log === "json" ? `${JSON.stringify(understanding)}\n` : asText(understanding),
      );
    });
}

function asText({ model, window, tickers, failures }: Understanding): string {
  const { start, end, learning_end, as_of } = window;
  const rows = tickers.map((t) => [
    t.ticker,
    String(t.features),
    String(t.fit_rows),
    String(t.score_rows),
    String(t.folds),
    t.first_fit,
    t.last_fit,
    t.mu ? "yes" : "no",
  ]);
  const lines = [
    `model   ${model.name} ${JSON.stringify(model.params)}`,
    `window  ${start} to ${end}, learning ends ${learning_end ?? "with the window"}, forecasts as of ${as_of}`,
    "",
    table(["ticker", "features", "fit rows", "score rows", "folds", "first fit", "last fit", "mu"], rows),
    ...failures.map(({ ticker, code, message }) => `left out: ${ticker}: ${code}: ${message}`),
  ];
  return `${lines.join("\n")}\n`;
}
