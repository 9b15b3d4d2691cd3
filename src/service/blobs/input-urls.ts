import { type BlobNames, checkLocation } from "../../blob/location.ts";
import { spaceIn } from "../../blob/names.ts";
import type { BlobPolicy } from "../../blob/policy.ts";
import type { ParsedPayload, UrlFault } from "../../contract/config/payload.ts";
import { OPTION_URL_MEMBERS, type PayloadOptions } from "../../contract/config/payload-schemas.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import { type StorageKey, storageKeyOf, storagePathOf } from "../store/blobs.ts";
import { spaceOf } from "./blobs.ts";

/** The URLs of this service's own blobs, and where the blobs are stored. */
export interface ServiceUrls {
  /** The service's own origins: the texts that can precede `/data/<name>`. */
  readonly bases: readonly string[];
  /** The text before `/data/<name>` in the URLs of jobs: the first base, or the container or bucket. */
  readonly jobBase: string;
  readonly policy: BlobPolicy;
}

/**
 * The bases of the service's blobs: its public URL, its address and the loopback names of its port.
 * @param address `http://host:port`, on which it listens. @param publicUrl without a trailing slash.
 */
export function serviceBases(address: string, publicUrl: string | undefined): string[] {
  const { port } = new URL(address);
  const loopback = ["127.0.0.1", "localhost", "[::1]"].map((host) => `http://${host}:${port || 80}`);
  return [...new Set([...(publicUrl === undefined ? [] : [publicUrl]), address, ...loopback])];
}

/** The owners of the blobs of this service. */
interface BlobOwners {
  /** The key of a caller's blob with that name; undefined if there is none. */
  find(caller: string, name: string): Promise<StorageKey | undefined>;
  /** Whether every caller may read a blob at the root of the storage: the operator put it there, and no caller has recorded it. */
  isOpen(name: string): Promise<boolean>;
}

export interface StoredInputs {
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  /** With the URLs among them. */
  readonly options: PayloadOptions;
  /** The recorded blobs among them. */
  readonly blobs: readonly StorageKey[];
}

/** The blob that a URL of this service names. */
interface NamedBlob {
  readonly name: string;
  /** Undefined if the URL does not say: the service looks among the caller's blobs, then among the operator's. */
  readonly space: string | undefined;
}

/**
 * Turns URLs of payloads that name the service's own blobs into paths of the storage, `/data/<name>` or `/<space>/data/<name>`, and
 * back. A stored path stays valid if the service restarts at another address, or another service on the same storage runs the job.
 */
export class InputUrls {
  readonly #urls: ServiceUrls;
  readonly #owners: BlobOwners;

  constructor(urls: ServiceUrls, owners: BlobOwners) {
    this.#urls = urls;
    this.#owners = owners;
  }

  /**
   * The same where callers reach the service at another origin as well: the one of a request, by which the answers to its uploads name
   * blobs. It may have the port of a container that is published on another one, or a name of `allowed_hosts`.
   */
  reachedAt(origin: string | undefined): InputUrls {
    const { bases } = this.#urls;
    if (origin === undefined || bases.includes(origin)) return this;
    return new InputUrls({ ...this.#urls, bases: [...bases, origin] }, this.#owners);
  }

  /** Checks the URL of a blob, for parsePayload. @returns undefined for an allowed URL. */
  readonly fault = (url: string, names: BlobNames = "input"): UrlFault | undefined => {
    try {
      const own = this.#namedBlob(url);
      const location = own === undefined ? url : `${this.#urls.jobBase}/data/${own.name}`;
      checkLocation(location, this.#urls.policy, names);
      return undefined;
    } catch (error) {
      if (error instanceof MucastError) {
        const { title, advice } = error.data;
        return { message: error.message, ...(title === undefined ? {} : { heading: { title, advice } }) };
      }
      throw error;
    }
  };

  /**
   * The URL with which a job reads a stored input. If blobs are in a folder, a job uses the same URLs as its caller, without a space.
   */
  readonly urlOf = (stored: string): string => {
    const { jobBase, policy } = this.#urls;
    const key = storageKeyOf(stored);
    if (key === undefined) return stored;
    return policy.container === undefined ? `${jobBase}/data/${key.name}` : `${jobBase}${stored}`;
  };

  /** Turns the inputs of a payload into what the operation's row stores. @throws MucastError url_not_allowed for a blob that the caller may not read. */
  async resolve(
    caller: Caller,
    payload: Pick<ParsedPayload, "featureUrl" | "dataExtractorUrl"> & Partial<Pick<ParsedPayload, "options">>,
  ): Promise<StoredInputs> {
    const feature = await this.#resolve(caller, "feature_url", payload.featureUrl);
    const prices = await this.#resolve(caller, "data_extractor_url", payload.dataExtractorUrl);
    const options = { ...payload.options };
    const resolved = [feature, prices];
    for (const name of OPTION_URL_MEMBERS) {
      const url = options[name];
      if (typeof url !== "string") continue;
      const found = await this.#resolve(caller, name, url);
      options[name] = found.stored;
      resolved.push(found);
    }
    return {
      featureUrl: feature.stored,
      dataExtractorUrl: prices.stored,
      options,
      blobs: resolved.flatMap(({ blob }) => blob ?? []),
    };
  }

  async #resolve(caller: Caller, path: string, url: string): Promise<{ stored: string; blob?: StorageKey }> {
    // An input that a replay takes from its output.
    if (url === "") return { stored: "" };
    const own = this.#namedBlob(url);
    if (own === undefined) {
      if (this.#isForeignSpace(caller, url)) throw notOwned(path, url.split("?")[0]!);
      return { stored: url };
    }
    const { name, space } = own;
    const blob = await this.#owners.find(caller.subject, name);
    if (blob !== undefined && (space === undefined || space === blob.space)) {
      return { stored: storagePathOf(blob), blob };
    }
    const mayBeOpen = space === undefined || space === "";
    if (mayBeOpen && (await this.#owners.isOpen(name))) return { stored: storagePathOf({ name, space: "" }) };
    throw notOwned(path, storagePathOf({ name, space: space ?? "" }));
  }

  /** The own blob that a URL names; undefined for a URL that the service does not read with its own credentials. */
  #namedBlob(url: string): NamedBlob | undefined {
    const { bases, policy } = this.#urls;
    const plain = url.split("?")[0]!;
    const base = bases.find((candidate) => plain.startsWith(`${candidate}/data/`));
    if (base !== undefined) return { name: plain.slice(`${base}/data/`.length), space: undefined };
    // A URL with a signature is read with the caller's permissions.
    const path = url === plain ? this.#pathIn(policy.container, url) : undefined;
    if (path === undefined) return undefined;
    const space = spaceIn(path) ?? "";
    const key = space === "" ? path : path.slice(space.length + 1);
    return key.startsWith("data/") ? { name: key.slice("data/".length), space } : undefined;
  }

  /** Whether a URL is in another caller's space, which the service refuses for any signature. */
  #isForeignSpace({ subject }: Caller, url: string): boolean {
    const space = spaceIn(this.#pathIn(this.#urls.policy.container, url.split("?")[0]!) ?? "");
    return space !== undefined && space !== spaceOf(subject);
  }

  #pathIn(container: string | undefined, plain: string): string | undefined {
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
