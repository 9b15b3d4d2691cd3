/** The two inputs of a job. */
export const BLOB_KINDS = ["feature_engine", "data_extractor"] as const;
export type BlobKind = (typeof BLOB_KINDS)[number];

/** A name for an input, for people. */
export const KIND_LABELS: Readonly<Record<BlobKind, string>> = {
  feature_engine: "Features",
  data_extractor: "Prices",
};

/** The extensions of an input's name. */
type BlobFormat = "json" | "parquet";

export interface BlobName {
  readonly kind: BlobKind;
  readonly id: string;
  readonly format: BlobFormat;
}

const MAX_ID_LENGTH = 64;
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const NAME = /^(feature_engine|data_extractor)_([A-Za-z0-9_-]{1,64})\.(json|parquet)$/;

export function isBlobId(id: string): boolean {
  return ID.test(id);
}

export function blobName({ kind, id, format }: BlobName): string {
  return `${kind}_${id}.${format}`;
}

/** The parts of a name that follows the rule; undefined for any other name. */
export function readBlobName(name: string): BlobName | undefined {
  const [, kind, id, format] = NAME.exec(name) ?? [];
  return kind === undefined ? undefined : { kind: kind as BlobKind, id: id!, format: format as BlobFormat };
}

/** The kind and id in the last part of a URL's path. */
export function blobNameInUrl(url: string): BlobName | undefined {
  return readBlobName(url.split(/[?#]/)[0]!.split("/").at(-1)!);
}

/** A valid name for a file: its own name if it follows the rule, otherwise the closest one that does. */
export function suggestedName(file: string): BlobName {
  const format: BlobFormat = /\.parquet(?:\.gz)?$/i.test(file) ? "parquet" : "json";
  const bare = file.replace(/\.gz$/i, "").replace(/\.[A-Za-z0-9]{1,7}$/, "");
  const exact = readBlobName(`${bare}.${format}`);
  if (exact !== undefined) return exact;
  const kind: BlobKind =
    /price|extract/i.test(bare) && !/feature/i.test(bare) ? "data_extractor" : "feature_engine";
  const rest = bare.replace(/^(?:feature_engine|data_extractor)_/, "");
  const id = rest
    .replaceAll(/[^A-Za-z0-9_-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, MAX_ID_LENGTH);
  return { kind, id: id === "" ? "upload" : id, format };
}
