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
import { storageFailed } from "../blobs/blobs.ts";
import { BODY_NAME, type PreparedFile, type PreparedFiles, type PrepareOrder } from "./messages.ts";

type Part = (typeof PREPARE_PARTS)[number];

/** The files of a request in the working folder, by their part; errors show their names. */
type InputFiles = Partial<Record<Part, string>>;

/**
 * Prepares the files of a request in a folder, beside them. The process then works in that folder, so that no error names a path.
 * @returns PreparedFiles as JSON. @throws MucastError invalid_request for a body that is not the multipart body of its type; of
 * `preparePrices`, with the faulty part of the request; too_large for names of features that do not fit into an answer.
 */
export async function prepareRequest({
  folder,
  multipartType,
  options,
  ...limits
}: PrepareOrder): Promise<string> {
  process.chdir(folder);
  const inputs = await nameFiles(multipartType).catch((error: unknown) => {
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
  const { featurePath, dataExtractorPath, tickers, written: _, ...facts } = prepared;
  // Before anything is stored: the answer could not be sent.
  if (jsonBytes(facts.features) > SIZES.features) throw longNames(facts.features, inputs.features);
  // The first sentence counts tickers and dates, which the answer has separately.
  const warnings = sentences.slice(1).map((sentence) => sentence.replace(/^warning: /, ""));
  const files: PreparedFiles = {
    ...facts,
    tickers: firstOf(tickers),
    tickerCount: tickers.length,
    warnings: firstOf(warnings),
    warningCount: warnings.length,
    files: { prices: await fileAt(dataExtractorPath), features: await fileAt(featurePath) },
  };
  return JSON.stringify(files);
}

function longNames(features: readonly string[], source: string | undefined): MucastError {
  const message =
    `the names of the ${features.length} features take ${jsonBytes(features)} bytes as JSON; at most ${SIZES.features} are accepted here; ` +
    "shorten them, or use mucast prepare";
  return new MucastError("too_large", message, { path: "body", source, limit: SIZES.features });
}

/** As many as an answer of the service may have. */
function firstOf(texts: readonly string[]): readonly string[] {
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
  if (code === "invalid_request")
    return new MucastError(code, `query.${message}`, { ...data, path: `query.${data.path}` });
  const source = data.source === features ? features : prices;
  return new MucastError(code, message, { path: "body", ...data, source });
}

/**
 * Names the files of a body: `prices.csv` or `prices.parquet`, and for multipart/form-data perhaps `features.csv` or `features.parquet`.
 * @param multipartType the Content-Type of a multipart body, which is read into memory.
 */
async function nameFiles(multipartType: string | undefined): Promise<InputFiles> {
  const parts: Part[] = multipartType === undefined ? ["prices"] : await splitBody(multipartType);
  if (multipartType === undefined) await rename(BODY_NAME, "prices");
  const files: InputFiles = {};
  for (const part of parts) {
    // If its gzip is broken, its reader says so.
    const isParquet = await isParquetFile(part, undefined).catch(() => false);
    files[part] = `${part}.${isParquet ? "parquet" : "csv"}`;
    await rename(part, files[part]);
  }
  return files;
}

/** Writes each part of the body to a file of its name. */
async function splitBody(type: string): Promise<Part[]> {
  const entries = [...(await formOf(await readFile(BODY_NAME), type))];
  await rm(BODY_NAME);
  for (const [name] of entries) {
    if (!PREPARE_PARTS.some((part) => part === name)) throw invalid(`the part ${show(name)} is not known`);
  }
  const found: Part[] = [];
  for (const part of PREPARE_PARTS) {
    const [file, another] = entries.filter(([name]) => name === part).map(([, value]) => value);
    if (another !== undefined) throw invalid(`the part "${part}" comes twice`);
    if (file === undefined) continue;
    if (typeof file === "string") throw invalid(`the part "${part}" is not a file: it has no filename`);
    await writeFile(part, Buffer.from(await file.arrayBuffer()), { mode: 0o600 });
    found.push(part);
  }
  if (found[0] !== "prices") throw invalid('the part "prices" is missing');
  return found;
}

/** Far more than there are names of parts. The parser makes an object of each, which may be much larger than the part. */
const MAX_PARTS = 100;

async function formOf(bytes: Buffer, type: string): Promise<FormData> {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(type) ?? [];
  const boundary = Buffer.from(`\n--${quoted ?? plain ?? ""}`);
  let count = 1;
  for (let at = bytes.indexOf(boundary); at >= 0; at = bytes.indexOf(boundary, at + 1)) {
    if (++count > MAX_PARTS) throw invalid(`there are more than ${MAX_PARTS} parts`);
  }
  try {
    return await new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData();
  } catch {
    throw invalid("the body is not multipart/form-data with the boundary of its Content-Type");
  }
}

function invalid(message: string): MucastError {
  return new MucastError("invalid_request", `body: ${message}`, { path: "body", accepted: PREPARE_PARTS });
}
