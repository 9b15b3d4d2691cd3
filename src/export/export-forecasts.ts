import { basename, dirname, extname } from "node:path";
import { replaceByStaged, stageFile } from "../blob/folder/staged-file.ts";
import type { Content } from "../blob/store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { openDocument, type Reading } from "../outputs/open-document.ts";
import { type ForecastPart, forecastParts } from "./forecast-parts.ts";
import { forecastsCsv } from "./forecasts-csv.ts";

/** The writer for each file extension. The Parquet writer is loaded on demand. */
const FORMATS: Readonly<Record<string, (parts: readonly ForecastPart[]) => Promise<Content>>> = {
  ".csv": async (parts) => forecastsCsv(parts),
  ".parquet": async (parts) => (await import("./forecasts-parquet.ts")).forecastsParquet(parts),
};

/** A request for an export. */
export interface ExportRequest {
  /** The output of a job: a path, a file: URL or an https URL. */
  readonly output: string;
  /** The path of the file; its extension selects the format, and an existing file is replaced. */
  readonly out: string;
}

/**
 * Writes the forecasts of an output as a table with one forecast per row.
 * @returns the number of rows.
 * @throws MucastError invalid_request for another extension; of reading the output; invalid_data, output_failed.
 */
export async function exportForecasts({ output, out }: ExportRequest, reading: Reading): Promise<number> {
  const extension = extname(out).toLowerCase();
  const format = Object.hasOwn(FORMATS, extension) ? FORMATS[extension] : undefined;
  if (format === undefined) {
    const message = `--out must end with ${Object.keys(FORMATS).join(" or ")}, which says the format, got ${JSON.stringify(out)}`;
    throw new MucastError("invalid_request", message, { path: "--out", value: out });
  }
  const parts = [...forecastParts(await openDocument(output, reading))];
  const { signal } = reading;
  const content = await format(parts);
  await replaceByStaged(await stageFile(dirname(out), basename(out), content, { signal, shown: out }));
  return parts.reduce((rows, { days }) => rows + days.length, 0);
}
