import { type BlobNames, checkLocation } from "../../blob/location.ts";
import { spaceIn } from "../../blob/names.ts";
import type { ParsedPayload, UrlFault } from "../../contract/config/payload.ts";
import { OPTION_URL_MEMBERS } from "../../contract/config/payload-schemas.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import { type StorageKey, storageKeyOf, storagePathOf } from "../store/blobs.ts";
import type { StoredBlobs } from "./blobs.ts";
import { type ServiceUrls, spaceOf } from "./storage.ts";

type BlobOwners = Pick<StoredBlobs, "locate" | "isOpen">;

export type StoredInputs = Awaited<ReturnType<InputUrls["resolve"]>>;

/** The URL of an own blob becomes a path, `/data/<name>` or `/<space>/data/<name>`, which is valid at every address of the service. */
export class InputUrls {
  readonly #urls: ServiceUrls;
  readonly #owners: BlobOwners;

  constructor(urls: ServiceUrls, owners: BlobOwners) {
    this.#urls = urls;
    this.#owners = owners;
  }

  /** Accepts the origin of a request too: a name of `allowed_hosts`, or the port on which a container publishes that of the service. */
  reachedAt(origin: string | undefined): InputUrls {
    const { bases } = this.#urls;
    if (origin === undefined || bases.includes(origin)) return this;
    return new InputUrls({ ...this.#urls, bases: [...bases, origin] }, this.#owners);
  }

  readonly fault = (url: string, names: BlobNames = "input"): UrlFault | undefined => {
    try {
      const own = this.#namedBlob(url);
      const location = own === undefined ? url : `${this.#urls.jobBase}/data/${own.name}`;
      checkLocation(location, this.#urls.policy, names);
      return undefined;
    } catch (error) {
      if (!(error instanceof MucastError)) throw error;
      const { title, advice } = error.data;
      return { message: error.message, ...(title === undefined ? {} : { heading: { title, advice } }) };
    }
  };

  /** The URL with which a job reads a stored input. If blobs are in a folder, it has no space, like the one that its caller uses. */
  readonly urlOf = (stored: string): string => {
    const { jobBase, policy } = this.#urls;
    const key = storageKeyOf(stored);
    if (key === undefined) return stored;
    return policy.container === undefined ? `${jobBase}/data/${key.name}` : `${jobBase}${stored}`;
  };

  async resolve(
    caller: Caller,
    payload: Pick<ParsedPayload, "featureUrl" | "dataExtractorUrl"> & Partial<Pick<ParsedPayload, "options">>,
  ) {
    const blobs: StorageKey[] = [];
    const resolve = (path: string, url: string) => this.#resolve(caller, path, url, blobs);
    const featureUrl = await resolve("feature_url", payload.featureUrl);
    const dataExtractorUrl = await resolve("data_extractor_url", payload.dataExtractorUrl);
    const options = { ...payload.options };
    for (const name of OPTION_URL_MEMBERS) {
      const url = options[name];
      if (typeof url === "string") options[name] = await resolve(name, url);
    }
    return { featureUrl, dataExtractorUrl, options, blobs };
  }

  async #resolve(caller: Caller, path: string, url: string, blobs: StorageKey[]): Promise<string> {
    // An input that a replay takes from its output.
    if (url === "") return "";
    const own = this.#namedBlob(url);
    if (own === undefined) {
      // The service refuses another caller's space, whatever the signature.
      const plain = url.split("?")[0]!;
      const space = spaceIn(this.#pathIn(plain) ?? "");
      if (space !== undefined && space !== spaceOf(caller.subject)) throw notOwned(path, plain);
      return url;
    }
    const { name, space } = own;
    const blob = await this.#owners.locate(caller.subject, name);
    if (blob !== undefined && (space === undefined || space === blob.space)) {
      blobs.push(blob);
      return storagePathOf(blob);
    }
    const stored = storagePathOf({ name, space: space ?? "" });
    if (!space && (await this.#owners.isOpen(name))) return stored;
    throw notOwned(path, stored);
  }

  /** Undefined for a URL that is not read with the service's own credentials. `space` is undefined if the URL does not say. */
  #namedBlob(url: string): { readonly name: string; readonly space: string | undefined } | undefined {
    const plain = url.split("?")[0]!;
    const base = this.#urls.bases.find((candidate) => plain.startsWith(`${candidate}/data/`));
    if (base !== undefined) return { name: plain.slice(`${base}/data/`.length), space: undefined };
    // A URL with a signature is read with the caller's permissions.
    const path = url === plain ? this.#pathIn(url) : undefined;
    if (path === undefined) return undefined;
    const space = spaceIn(path) ?? "";
    const key = space === "" ? path : path.slice(space.length + 1);
    return key.startsWith("data/") ? { name: key.slice("data/".length), space } : undefined;
  }

  #pathIn(plain: string): string | undefined {
    const { container } = this.#urls.policy;
    return container !== undefined && plain.startsWith(`${container}/`)
      ? plain.slice(container.length + 1)
      : undefined;
  }
}

function notOwned(path: string, stored: string): MucastError {
  const message = `${path}: there is no blob ${stored} of this caller; upload it first, with the same credentials`;
  return new MucastError("url_not_allowed", message, {
    path,
    value: stored,
    title: "The caller has no such blob",
    advice: "Upload the blob first, or correct its name in the URL.",
  });
}
