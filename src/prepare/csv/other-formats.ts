import { MucastError } from "../../contract/errors/errors.ts";
import { NOT_A_TABLE } from "../../contract/errors/wrong-document.ts";

const WITH_PANDAS = "write the table as CSV or Parquet with pandas";

const MAX_START = 2 ** 16;

/** How files of other formats begin, each byte a character, what they are, and what to do. */
const FORMATS: readonly (readonly [start: RegExp, what: string, advice: string])[] = [
  [
    /^PK\p{Cc}{2}.*?(?:\[Content_Types\]\.xml|xl\/|spreadsheet)|^\xd0\xcf\p{Cc}\xe0/su,
    "a workbook of Excel",
    "save its sheet as CSV",
  ],
  [/^PK\p{Cc}{2}/u, "a zip archive", "give the file in it"],
  [/^(?:BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf)/, "compressed", "decompress it, or use gzip"],
  [/^(?:ARROW1|FEA1)/, "a table of Feather", WITH_PANDAS],
  [/^\x89HDF/, "HDF5", WITH_PANDAS],
  [/^\x80/, "a pickle of Python", WITH_PANDAS],
  [/^\s*<(?:!doctype|html|\?xml|table)/i, "a web page", "download the table itself"],
  [/^\s*\{.*\}\s*\n\s*\{/, "JSON lines, an object a line", `${WITH_PANDAS}: read_json(path, lines=True)`],
  // Unlike the header of a table.
  [/^\s*(?:\{\s*["}]|\[\s*[[{"\]])/, "JSON", "prepare reads CSV and Parquet"],
  [
    /^[^\s,;|]+(?: +[^\s,;|]+)+ *\r?\n/,
    "a text whose header has blanks between its columns",
    "separate them with commas, semicolons, tabs or bars",
  ],
];

/** @throws MucastError invalid_data for the beginning of a file that is no CSV, which says what it is. */
export function checkCsv(start: Uint8Array, path: string): void {
  const text = Buffer.from(start.subarray(0, MAX_START))
    .toString("latin1")
    .replace(/^\xef\xbb\xbf/, "");
  const [, what, advice] = FORMATS.find(([pattern]) => pattern.test(text)) ?? [];
  if (what === undefined) return;
  const message = `${path} is ${what}; ${advice}`;
  throw new MucastError("invalid_data", message, { source: path, ...NOT_A_TABLE });
}
