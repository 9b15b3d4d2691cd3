import type { Command } from "commander";
import { blobPolicy } from "../blob/policy.ts";
import { printable } from "../contract/printable.ts";
import { type Understanding, validateMlJob } from "../jobs/validate-ml-job.ts";
import { type JobFlags, jobInputs, reporterOf, withJobFlags } from "./job-options.ts";
import { table } from "./table.ts";
import { untilSignal } from "./until-signal.ts";

const HELP = `
Example:
  mucast validate --feature-url data/feature_engine_1.json --data-extractor-url data/data_extractor_1.json \\
      --config '{"ML params": {"model": "lightgbm", "intervals": {}}}'

stdout carries a table, or one JSON object with --log json; stderr carries every warning. Takes the flags of
run_ml_job. Where run_ml_job would find nothing to learn or to forecast, its error follows, with its exit code.`;

export function addValidate(program: Command): void {
  withJobFlags(program.command("validate"))
    .description("tell what run_ml_job would understand of both blobs and the config; train nothing")
    .addHelpText("after", HELP)
    .action(async (flags: JobFlags) => {
      const { workers, ...inputs } = jobInputs(flags, process.env);
      const reporter = reporterOf(flags);
      try {
        const policy = blobPolicy({ ...process.env, BLOB_URL: inputs.blobUrl });
        const { error, ...understanding } = await untilSignal((signal) =>
          validateMlJob({ ...inputs, id: "validate" }, { workers, policy, report: reporter.report, signal }),
        );
        for (const warning of understanding.warnings) reporter.warn(warning);
        process.stdout.write(
          flags.log === "json" ? `${JSON.stringify(understanding)}\n` : asText(understanding),
        );
        if (error !== undefined) throw error;
      } finally {
        reporter.finish();
      }
    });
}

function asText({ model, window, tickers, failures }: Omit<Understanding, "error">): string {
  const { start, end, learning_end, as_of } = window;
  const rows = tickers.map((t) => [
    printable(t.ticker),
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
    ...failures.map(({ ticker, code, message }) => printable(`left out: ${ticker}: ${code}: ${message}`)),
  ];
  return `${lines.join("\n")}\n`;
}
