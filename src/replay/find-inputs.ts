import type { InputChange, ReplayBlob } from "../contract/output/replay-blob.ts";
import { type FoundInput, findInput, type Reading } from "./find-input.ts";
import { type InputKind, inputChange } from "./input-change.ts";
import type { RecordedFacts } from "./recorded-output.ts";
import { isRefusal, isUnread } from "./refusals.ts";

export type FoundInputs = Readonly<Record<InputKind, FoundInput>>;

/** The location of an output, and the blobs that a caller names instead of the recorded ones. */
interface Places {
  readonly outputUrl: string;
  readonly featureUrl?: string | undefined;
  readonly dataExtractorUrl?: string | undefined;
}

/** Looks for the two input blobs of an output. @throws MucastError canceled. */
export async function findInputs(
  { provenance }: RecordedFacts,
  { outputUrl: output, featureUrl, dataExtractorUrl }: Places,
  reading: Reading,
): Promise<FoundInputs> {
  const feature = {
    url: provenance.feature_url,
    sha256: provenance.feature_sha256,
    given: featureUrl,
    output,
  };
  const prices = {
    url: provenance.data_extractor_url,
    sha256: provenance.data_extractor_sha256,
    given: dataExtractorUrl,
    output,
  };
  return {
    feature: await findInput(feature, reading),
    data_extractor: await findInput(prices, reading),
  };
}

/** Why a replay lacks inputs; undefined if it has both. */
export function missingInputs(inputs: FoundInputs): string | undefined {
  const gone = Object.values(inputs).filter(({ location }) => location === undefined);
  if (gone.length === 0) return undefined;
  const words = gone.flatMap(({ shown }) => shown.tried.map(({ url, problem }) => `${url}: ${problem}`));
  const names = gone.map(({ shown }) => shown.url).join(" and ");
  return `nothing can be read of ${names} (${words.join("; ") || "no place to look"})`;
}

/** The text of a verdict if the digest of a blob differs from the recorded one; undefined if both match. */
export async function otherInputs(
  inputs: FoundInputs,
  reading: Reading,
  workFolder: string,
): Promise<{ readonly message: string; readonly inputs: NonNullable<ReplayBlob["inputs"]> } | undefined> {
  if (Object.values(inputs).every(({ isRecorded }) => isRecorded)) return undefined;
  const words: string[] = [];
  const withChange = async (kind: InputKind) => {
    const { isRecorded, original, location, shown } = inputs[kind];
    if (isRecorded) return shown;
    const change = original && (await changeOf(kind, original, location!, reading, workFolder));
    words.push(changeText(kind, shown, change || undefined));
    return change ? { ...shown, change } : shown;
  };
  const feature = await withChange("feature");
  const data_extractor = await withChange("data_extractor");
  return { message: words.join("; "), inputs: { feature, data_extractor } };
}

function changeText(
  kind: InputKind,
  { url, sha256, found }: FoundInput["shown"],
  change?: InputChange,
): string {
  const text = `${url} had the SHA-256 ${sha256}, and ${found!.url} has ${found!.sha256}`;
  if (change === undefined || !isSameSeries(change)) return text;
  const window = kind === "feature" ? "" : "has another window, or ";
  return `${text}, though every value is the same: it ${window}is written or compressed in another way`;
}

function isSameSeries({ tickers, columns, only_recorded, only_found }: InputChange): boolean {
  return [tickers, columns, only_recorded, only_found].every(({ count }) => count === 0);
}

/** Undefined if one of them is not a valid blob, or is no longer readable. */
async function changeOf(
  kind: InputKind,
  original: string,
  location: string,
  reading: Reading,
  workFolder: string,
): Promise<InputChange | undefined> {
  try {
    return await inputChange(kind, original, location, reading, workFolder);
  } catch (error) {
    if (isRefusal(error) || isUnread(error)) return undefined;
    throw error;
  }
}
