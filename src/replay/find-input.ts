import { basename, dirname, join } from "node:path";
import { filePath, isRemoteUrl, isUrl } from "../blob/location.ts";
import { openBlob } from "../blob/open-blob.ts";
import { redactUrl } from "../blob/policy.ts";
import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { ReplayBlob } from "../contract/output/replay-blob.ts";
import type { JobContext } from "../jobs/shared/job.ts";

export type Reading = Pick<JobContext, "policy" | "report" | "signal"> & {
  /** BLOB_URL, possibly with its SAS; for blobs in that container. */
  readonly blobUrl?: string | undefined;
};

export interface FoundInput {
  /** The blob for the job to read: the one with the recorded digest, or else the first readable one. */
  readonly location: string | undefined;
  /** Whether it has the recorded digest. */
  readonly isRecorded: boolean;
  /** The blob with the recorded digest, if `location` is another one. */
  readonly original: string | undefined;
  readonly shown: Omit<NonNullable<ReplayBlob["inputs"]>["feature"], "change">;
}

interface Wanted {
  /** As recorded in the output: an https URL, or the name of a local file. */
  readonly url: string;
  readonly sha256: string;
  readonly given: string | undefined;
  readonly output: string;
}

/** Codes of a location without a readable blob; other errors, such as a cancel, end the replay. */
const UNUSABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "url_not_allowed",
  "blob_not_found",
  "blob_unavailable",
  "unreadable_blob",
  "too_large",
  "invalid_request",
]);

/**
 * Looks for the blob with the recorded digest: at the caller's location, at the recorded URL, and beside the output under the
 * recorded name. A blob that the caller names is used even if its digest differs; the search then continues, so that the two can be
 * compared.
 */
export async function findInput(
  { url, sha256, given, output }: Wanted,
  reading: Reading,
): Promise<FoundInput> {
  const tried: { url: string; problem: string }[] = [];
  let other: { location: string; sha256: string } | undefined;
  let original: string | undefined;
  for (const location of placesOf(url, given, output)) {
    try {
      const found = await digestOf(location, reading);
      if (found === sha256) {
        original = location;
        break;
      }
      other ??= { location, sha256: found };
      tried.push({ url: publicName(location), problem: `its SHA-256 is ${found}` });
    } catch (error) {
      if (!(error instanceof MucastError && UNUSABLE.has(error.code))) throw error;
      tried.push({ url: publicName(location), problem: error.code });
      // The caller's blob must exist.
      if (location === given) break;
    }
  }
  const isRecorded = original !== undefined && (given === undefined || original === given);
  const chosen = isRecorded ? { location: original!, sha256 } : other;
  const found = chosen === undefined ? null : { url: publicName(chosen.location), sha256: chosen.sha256 };
  return {
    location: chosen?.location,
    isRecorded,
    original: isRecorded ? undefined : original,
    shown: { url: publicName(url), sha256, found, tried },
  };
}

function placesOf(url: string, given: string | undefined, output: string): string[] {
  const name = isUrl(url) ? url.split("/").at(-1)! : url;
  const places = [...(given === undefined ? [] : [given]), ...(isRemoteUrl(url) ? [url] : [])];
  if (isPlainName(name)) places.push(beside(output, name));
  return [...new Set(places)];
}

/** An output may come from anywhere, so only names of files in the same folder are followed. */
function isPlainName(name: string): boolean {
  return /^[^/\\\p{C}\p{Zl}\p{Zp}?#%]{1,255}$/u.test(name) && name !== "." && name !== "..";
}

function beside(output: string, name: string): string {
  if (!isUrl(output)) return join(dirname(output), name);
  if (!isRemoteUrl(output)) return join(dirname(filePath(output)), name);
  const [bare, ...query] = output.split("?");
  return [`${bare!.slice(0, bare!.lastIndexOf("/"))}/${name}`, ...query].join("?");
}

/** A URL without its query, or the name of a local file: a verdict contains no path of the machine. */
export function publicName(location: string): string {
  const shown = redactUrl(location);
  return isRemoteUrl(location) ? shown : basename(shown);
}

/** SHA-256 of a stored blob, which the job reads again. */
async function digestOf(location: string, { policy, report, signal, blobUrl }: Reading): Promise<string> {
  const blob = await openBlob(location, policy, { signal, blobUrl });
  let done = 0;
  for await (const chunk of blob.chunks) {
    done += chunk.length;
    report({ kind: "progress", stage: "read", done });
  }
  return blob.digest();
}
