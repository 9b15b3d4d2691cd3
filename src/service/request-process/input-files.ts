import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { PREPARE_PARTS } from "../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import { isParquetFile } from "../../prepare/input-files.ts";
import { storageFailed } from "../blobs/blobs.ts";
import { BODY_NAME } from "./messages.ts";

type Part = (typeof PREPARE_PARTS)[number];

/** The files of a request in the working folder, by their part; errors show their names. */
export type InputFiles = Readonly<{ prices: string } & Partial<Record<Part, string>>>;

/**
 * Names the files of a body: `prices.csv` or `prices.parquet`, and for multipart/form-data perhaps `features.csv` or `features.parquet`.
 * @param multipartType the Content-Type of a multipart body, which is read into memory.
 * @throws MucastError invalid_request for a body that is not multipart, and for parts that are missing, repeated, unknown or not files.
 */
export async function inputFiles(multipartType: string | undefined): Promise<InputFiles> {
  try {
    const parts = multipartType === undefined ? ["prices" as const] : await splitBody(multipartType);
    if (multipartType === undefined) await rename(BODY_NAME, "prices");
    const named: [Part, string][] = [];
    for (const part of parts) named.push([part, await withExtension(part)]);
    return Object.fromEntries(named) as unknown as InputFiles;
  } catch (error) {
    throw storageFailed(error, "the files could not be kept");
  }
}

/** Writes each part of the body to a file of its name. */
async function splitBody(type: string): Promise<Part[]> {
  const form = await formOf(await readFile(BODY_NAME), type);
  await rm(BODY_NAME);
  const entries = [...form];
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

async function formOf(bytes: Buffer, type: string): Promise<FormData> {
  requireFewParts(bytes, type);
  try {
    return await new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData();
  } catch {
    throw invalid("the body is not multipart/form-data with the boundary of its Content-Type");
  }
}

/** Far more than there are names of parts. The parser makes an object of each, which may be much larger than the part. */
const MAX_PARTS = 100;

function requireFewParts(bytes: Buffer, type: string): void {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(type) ?? [];
  const delimiter = Buffer.from(`--${quoted ?? plain ?? ""}`);
  // Without a boundary, the parser refuses the body.
  if (delimiter.length === 2) return;
  let count = 0;
  for (let at = bytes.indexOf(delimiter); at >= 0; at = bytes.indexOf(delimiter, at + delimiter.length)) {
    const startsLine = at === 0 || bytes[at - 1] === LINE_FEED;
    if (startsLine && ++count > MAX_PARTS) throw invalid(`there are more than ${MAX_PARTS} parts`);
  }
}

const LINE_FEED = 10;

/** Gives a file the extension of its format, which its first bytes show. */
async function withExtension(part: Part): Promise<string> {
  // If its gzip is broken, its reader says so.
  const isParquet = await isParquetFile(part, undefined).catch(() => false);
  const name = `${part}.${isParquet ? "parquet" : "csv"}`;
  await rename(part, name);
  return name;
}

function invalid(message: string): MucastError {
  return new MucastError("invalid_request", `body: ${message}`, { path: "body", accepted: PREPARE_PARTS });
}
