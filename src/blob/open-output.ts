import type { Content } from "./content.ts";
import { checkOutput, isWebUrl, resolveOutput, writeOutput } from "./folder/output-folder.ts";
import { openStore, type StoreOptions } from "./open-store.ts";

/** The target of one output. */
export interface OutputTarget {
  /**
   * Checks early, before hours of training, whether the output can be written later: the folder or container exists and the name is free.
   * Writes nothing.
   * @throws MucastError output_failed.
   */
  check(): Promise<void>;
  /**
   * Writes it, create-only and completely or not at all.
   * @returns its URL, without a secret.
   * @throws MucastError output_failed; errors of the content and the signal.
   */
  write(content: Content, signal: AbortSignal): Promise<string>;
}

interface OutputWish {
  /** As made by `outputName`, such as `ml_engine_<id>.json`. */
  readonly name: string;
  readonly blobUrl?: string | undefined;
  /** The output goes beside it if there is no BLOB_URL. */
  readonly featureLocation: string;
}

/** @throws MucastError invalid_request if no output can be written there. */
export async function openOutput(wish: OutputWish, options: StoreOptions): Promise<OutputTarget> {
  const { name, blobUrl } = wish;
  if (blobUrl === undefined || !isWebUrl(blobUrl)) {
    const folder = resolveOutput(wish);
    return {
      check: () => checkOutput(folder, name),
      write: (content, signal) => writeOutput(folder, name, content, { signal }),
    };
  }
  const store = await openStore(blobUrl, options);
  const key = `data/${name}`;
  return {
    // Hours may pass in between, for which no connection is kept.
    check: () => store.checkNew(key).finally(() => store.close()),
    async write(content, signal) {
      await store.create(key, content, { signal }).finally(() => store.close());
      return `${store.url}/${key}`;
    },
  };
}
