import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { preparePrices } from "../../prepare/prepare-prices.ts";
import { storageFailed } from "../blobs/blobs.ts";
import { CSV_NAME } from "./csv-name.ts";
import type { PreparedFile, PreparedFiles, PrepareOrder } from "./messages.ts";

/**
 * Prepares the CSV of a folder, beside it. The process works in that folder then, so that no error names a path.
 * @returns PreparedFiles as JSON. @throws MucastError of `preparePrices`, with the part of the request that is at fault.
 */
export async function prepareCsv({ folder, options, csvBytes, blobBytes }: PrepareOrder): Promise<string> {
  process.chdir(folder);
  const sentences: string[] = [];
  const prepared = await preparePrices({
    csvPath: CSV_NAME,
    outFolder: ".",
    options,
    report: (sentence) => void sentences.push(sentence),
    limits: { csvBytes, blobBytes },
  }).catch((error: unknown) => {
    throw ofRequest(error);
  });
  const { featurePath, dataExtractorPath, written: _, ...facts } = prepared;
  const files: PreparedFiles = {
    ...facts,
    // The first sentence counts tickers and dates, which the answer has by themselves.
    warnings: sentences.slice(1).map((sentence) => sentence.replace(/^warning: /, "")),
    files: { prices: await fileAt(dataExtractorPath), features: await fileAt(featurePath) },
  };
  return JSON.stringify(files);
}

async function fileAt(path: string): Promise<PreparedFile> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return { name: basename(path), path, bytes: (await stat(path)).size, sha256: hash.digest("hex") };
}

/** The same error, whose path is a part of the request, and whose words name no folder of this machine. */
function ofRequest(error: unknown): unknown {
  const failed = storageFailed(error, "the blobs could not be prepared");
  if (!(failed instanceof MucastError)) return failed;
  const { code, data } = failed;
  const message = failed.message.replaceAll(`${process.cwd()}/`, "");
  if (code !== "invalid_request")
    return new MucastError(code, message, { path: "body", ...data, source: CSV_NAME });
  return new MucastError(code, `query.${message}`, { ...data, path: `query.${data.path}` });
}
