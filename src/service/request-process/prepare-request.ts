import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { PREPARE_PARTS } from "../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import { boundedCopy, jsonBytes } from "../../contract/json/bounded-json.ts";
import { MAX_LISTED, SIZES } from "../../contract/schema/answer-limits.ts";
import { isParquetFile } from "../../prepare/input-files.ts";
import { preparePrices } from "../../prepare/prepare-prices.ts";
import { storageFailed } from "../blobs/storage.ts";
import type { PrepareOrder } from "./request-processes.ts";

type Part = (typeof PREPARE_PARTS)[number];

type InputFiles = Partial<Record<Part, string>>;

export type PreparedFiles = Awaited<ReturnType<typeof prepareRequest>>;
export type PreparedFile = Awaited<ReturnType<typeof describeFile>>;

/** Prepares the files of a request in their folder. The process then works in that folder, so that no error names a path. */
export async function prepareRequest({ folder, body, multipartType, options, ...limits }: PrepareOrder) {
  process.chdir(folder);
  const inputs = await nameFiles(body, multipartType).catch((error: unknown) => {
    throw storageFailed(error, "the files could not be kept");
  });
  const sentences: string[] = [];
  const prepared = await preparePrices({
    csvPath: inputs.prices!,
    featuresPath: inputs.features,
    outFolder: ".",
    options,
    report: (sentence) => void sentences.push(sentence),
    limits,
  }).catch((error: unknown) => {
    throw ofRequest(error, inputs);
  });
  const { featurePath, dataExtractorPath, tickers, learningEnd, written: _, ...facts } = prepared;
  // Before anything is stored: the answer could not be sent.
  const [bytes, limit] = [jsonBytes(facts.features), SIZES.features];
  if (bytes > limit) {
    const message =
      `the names of the ${facts.features.length} features take ${bytes} bytes as JSON; at most ${limit} are accepted here; ` +
      "shorten them, or use mucast prepare";
    throw new MucastError("too_large", message, { path: "body", source: inputs.features, limit });
  }
  // The first sentence counts tickers and dates, which the answer has separately.
  const warnings = sentences.slice(1).map((sentence) => sentence.replace(/^warning: /, ""));
  return {
    answer: {
      ...{ ...facts, features: [...facts.features], learning_end: learningEnd ?? null },
      ...{ tickers: firstOf(tickers), ticker_count: tickers.length },
      ...{ warnings: firstOf(warnings), warning_count: warnings.length },
    },
    files: { prices: await describeFile(dataExtractorPath), features: await describeFile(featurePath) },
  };
}

/** As many as an answer of the service may have. */
function firstOf(texts: readonly string[]): string[] {
  return boundedCopy(texts.slice(0, MAX_LISTED), { bytes: SIZES.list, text: SIZES.text })!;
}

async function describeFile(path: string) {
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
  if (code === "invalid_request")
    return new MucastError(code, `query.${message}`, { ...data, path: `query.${data.path}` });
  const source = data.source === features ? features : prices;
  return new MucastError(code, message, { path: "body", ...data, source });
}

/** Names the files of a body, such as `prices.csv` and `features.parquet`. A multipart body is read into memory. */
async function nameFiles(body: string, multipartType: string | undefined): Promise<InputFiles> {
  let parts: readonly Part[] = ["prices"];
  if (multipartType === undefined) await rename(body, "prices");
  else parts = await splitBody(body, multipartType);
  const files: InputFiles = {};
  for (const part of parts) {
    // If its gzip is broken, its reader says so.
    const isParquet = await isParquetFile(part, undefined).catch(() => false);
    files[part] = `${part}.${isParquet ? "parquet" : "csv"}`;
    await rename(part, files[part]);
  }
  return files;
}

async function splitBody(body: string, type: string): Promise<Part[]> {
  const response = new Response(await readFile(body), { headers: { "content-type": type } });
  const form = await response.formData().catch(() => {
    throw invalid("the body is not multipart/form-data with the boundary of its Content-Type");
  });
  await rm(body);
  for (const name of form.keys())
    if (!PREPARE_PARTS.some((part) => part === name)) throw invalid(`the part ${show(name)} is not known`);
  const found = PREPARE_PARTS.filter((part) => form.has(part));
  for (const part of found) {
    const [file, another] = form.getAll(part);
    if (another !== undefined) throw invalid(`the part "${part}" comes twice`);
    if (typeof file === "string") throw invalid(`the part "${part}" is not a file: it has no filename`);
    await writeFile(part, Buffer.from(await file!.arrayBuffer()), { mode: 0o600 });
  }
  if (found[0] !== "prices") throw invalid('the part "prices" is missing');
  return found;
}

function invalid(message: string): MucastError {
  return new MucastError("invalid_request", `body: ${message}`, { path: "body", accepted: PREPARE_PARTS });
}
