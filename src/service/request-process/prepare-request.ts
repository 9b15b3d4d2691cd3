import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { boundedCopy, jsonBytes } from "../../contract/json/bounded-json.ts";
import { MAX_LISTED, SIZES } from "../../contract/schema/answer-limits.ts";
import { preparePrices } from "../../prepare/prepare-prices.ts";
import { storageFailed } from "../blobs/blobs.ts";
import { type InputFiles, inputFiles } from "./input-files.ts";
import type { PreparedFile, PreparedFiles, PrepareOrder } from "./messages.ts";

/**
 * Prepares the files of a request in a folder, beside them. The process then works in that folder, so that no error names a path.
 * @returns PreparedFiles as JSON. @throws MucastError of `inputFiles`; of `preparePrices`, with the faulty part of the request;
 * too_large for names of features that do not fit into an answer.
 */
export async function prepareRequest({
  folder,
  multipartType,
  options,
  ...limits
}: PrepareOrder): Promise<string> {
  process.chdir(folder);
  const inputs = await inputFiles(multipartType);
  const sentences: string[] = [];
  const prepared = await preparePrices({
    csvPath: inputs.prices,
    featuresPath: inputs.features,
    outFolder: ".",
    options,
    report: (sentence) => void sentences.push(sentence),
    limits,
  }).catch((error: unknown) => {
    throw ofRequest(error, inputs);
  });
  const { featurePath, dataExtractorPath, tickers, written: _, ...facts } = prepared;
  if (jsonBytes(facts.features) > SIZES.features) throw longNames(facts.features, inputs.features);
  // The first sentence counts tickers and dates, which the answer has separately.
  const warnings = sentences.slice(1);
  const files: PreparedFiles = {
    ...facts,
    tickers: listed(tickers),
    tickerCount: tickers.length,
    warnings: listed(warnings.map((sentence) => sentence.replace(/^warning: /, ""))),
    warningCount: warnings.length,
    files: { prices: await fileAt(dataExtractorPath), features: await fileAt(featurePath) },
  };
  return JSON.stringify(files);
}

/** Before anything is stored: the answer could not be sent. */
function longNames(features: readonly string[], source: string | undefined): MucastError {
  const message =
    `the names of the ${features.length} features take ${jsonBytes(features)} bytes as JSON; at most ${SIZES.features} are accepted here; ` +
    "shorten them, or use mucast prepare";
  return new MucastError("too_large", message, { path: "body", source, limit: SIZES.features });
}

/** The first ones, as many as an answer of the service may have. */
function listed(texts: readonly string[]): readonly string[] {
  return boundedCopy(texts.slice(0, MAX_LISTED), { bytes: SIZES.list, text: SIZES.text })!;
}

async function fileAt(path: string): Promise<PreparedFile> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return { name: basename(path), path, bytes: (await stat(path)).size, sha256: hash.digest("hex") };
}

/** The same error, with a part of the request as its path, and without a folder of this machine in its message. */
function ofRequest(error: unknown, { prices, features }: InputFiles): unknown {
  const failed = storageFailed(error, "the blobs could not be prepared");
  if (!(failed instanceof MucastError)) return failed;
  const { code, data } = failed;
  const message = failed.message.replaceAll(`${process.cwd()}/`, "");
  if (code !== "invalid_request")
    return new MucastError(code, message, {
      path: "body",
      ...data,
      source: data.source === features ? features : prices,
    });
  return new MucastError(code, `query.${message}`, { ...data, path: `query.${data.path}` });
}
