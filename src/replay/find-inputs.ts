import type { InputChange, ReplayBlob } from "../contract/output/replay-blob.ts";
import { type FoundInput, findInput, type Reading } from "./find-input.ts";
import { type InputKind, inputChange } from "./input-change.ts";
import type { RecordedFacts } from "./recorded-output.ts";
import { isRefusal } from "./refusals.ts";

export type FoundInputs = Readonly<Record<InputKind, FoundInput>>;

/** Where an output is, and the blobs that a caller gives in place of the recorded ones. */
interface Places {
  readonly outputUrl: string;
  readonly featureUrl?: string | undefined;
  readonly dataExtractorUrl?: string | undefined;
}

/** Looks for both blobs that an output was made of. @throws MucastError canceled. */
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

/** What a verdict says where a blob has another digest than the recorded one; undefined where both have theirs. */
export async function otherInputs(
  inputs: FoundInputs,
  reading: Reading,
  workFolder: string,
): Promise<{ readonly message: string; readonly inputs: NonNullable<ReplayBlob["inputs"]> } | undefined> {
  const changed = Object.values(inputs).filter(({ isRecorded }) => !isRecorded);
  if (changed.length === 0) return undefined;
  const words = changed.map(({ shown: { url, sha256, found } }) => {
    return `${url} had the SHA-256 ${sha256}, and ${found!.url} has ${found!.sha256}`;
  });
  const withChange = async (kind: InputKind) => {
    const { isRecorded, original, location, shown } = inputs[kind];
    if (isRecorded || original === undefined) return shown;
    const change = await changeOf(kind, original, location!, reading, workFolder);
    return change === undefined ? shown : { ...shown, change };
  };
  const feature = await withChange("feature");
  return {
    message: words.join("; "),
    inputs: { feature, data_extractor: await withChange("data_extractor") },
  };
}

/** Undefined where one of them is no blob of its kind. */
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
    if (isRefusal(error)) return undefined;
    throw error;
  }
}
