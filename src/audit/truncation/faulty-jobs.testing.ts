/** Jobs with faults that the truncation check has to find. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { JOBS, type Jobs } from "../../jobs/run-job.ts";

/** A fault that is planted into the output that the correct job has written. */
export function faultyOutput(plant: (output: OutputBlob) => void): Jobs {
  return {
    ...JOBS,
    run_ml_job: async (request, context) => {
      const record = await JOBS.run_ml_job(request, context);
      const path = fileURLToPath(record.output_url);
      const output = JSON.parse(readFileSync(path, "utf8"));
      plant(output);
      writeFileSync(path, JSON.stringify(output));
      return record;
    },
  };
}

/** Forecasts of a ticker minus their mean, which includes later ones. */
export function centredForecasts(ticker: string): Jobs {
  return faultyOutput(({ forecasts }) => {
    const own = forecasts[ticker]!;
    const mean = own.predicted.reduce((sum, p) => sum + p, 0) / own.predicted.length;
    own.predicted = own.predicted.map((p) => p - mean);
  });
}

type Cells = readonly (number | string | null)[];

/** A fault in the middle of the job: each row of its panel has the features of the next one, if there is one. */
export const LOOKING_AHEAD: Jobs = {
  ...JOBS,
  run_ml_job: async (request, context) => {
    const given = request.featureUrl;
    const text = readFileSync(given.startsWith("file:") ? fileURLToPath(given) : given, "utf8");
    const blob = JSON.parse(text);
    for (const columns of Object.values<Record<string, Cells>>(blob.features)) {
      for (const [name, cells] of Object.entries(columns)) {
        if (name !== "dates") columns[name] = cells.map((cell, i) => cells[i + 1] ?? cell);
      }
    }
    const folder = mkdtempSync(join(tmpdir(), "mucast-ahead-"));
    try {
      const featureUrl = join(folder, "feature_engine_ahead.json");
      const seen = JSON.stringify(blob);
      writeFileSync(featureUrl, seen);
      const record = await JOBS.run_ml_job({ ...request, featureUrl }, context);
      const path = fileURLToPath(record.output_url);
      // The output names the blob that the job was given.
      writeFileSync(path, readFileSync(path, "utf8").replace(sha256(seen), sha256(text)));
      return record;
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
