import { checkInputLocation } from "../../blob/location.ts";
import { spaceIn } from "../../blob/names.ts";
import type { BlobPolicy } from "../../blob/policy.ts";
import type { ParsedPayload } from "../../contract/config/payload.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../operations/operations.ts";
import type { StoredInputs } from "../operations/stored-operations.ts";
import { type StorageKey, storageKeyOf, storagePathOf } from "../store/blob-records.ts";
import { spaceOf } from "./blobs.ts";

/** Under which URLs this service's own blobs are known, and where they lie. */
export interface ServiceUrls {
  /** What may come before `/data/<name>`: the service's own origins. */
  readonly bases: readonly string[];
  /** What comes before `/data/<name>` for jobs: the first of them, or the container. */
  readonly jobBase: string;
  readonly policy: BlobPolicy;
}

/**
 * What the service listens on as URLs of its blobs.
 * @param address `http://host:port` as it is listening. @param publicUrl without a slash at its end.
 */
export function serviceBases(address: string, publicUrl: string | undefined): string[] {
  const { port } = new URL(address);
  const loopback = ["127.0.0.1", "localhost", "[::1]"].map((host) => `http://${host}:${port || 80}`);
  return [...new Set([...(publicUrl === undefined ? [] : [publicUrl]), address, ...loopback])];
}

/** Whose the blobs of this service are. */
export interface BlobOwners {
  /** Where the blob lies that a caller has under a name; undefined where there is none. */
  find(caller: string, name: string): Promise<StorageKey | undefined>;
  /** Whether anyone may read a blob in the storage itself: it is recorded for no caller, the operator has put it there. */
  isOpen(name: string): Promise<boolean>;
}

/** What an own URL of a payload names. */
interface OwnName {
  readonly name: string;
  /** Undefined where it is looked for: among the caller's own blobs, then among the operator's. */
  readonly space: string | undefined;
}

/**
 * Payload URLs that name the service's own blobs are kept as paths in the storage, `/data/<name>` or
 * `/<space>/data/<name>`, so that they stay right when the service comes back at another address, or another service on
 * the same storage runs the job.
 */
export class InputUrls {
  readonly #urls: ServiceUrls;
  readonly #owners: BlobOwners;

  constructor(urls: ServiceUrls, owners: BlobOwners) {
    this.#urls = urls;
    this.#owners = owners;
  }

  /** What is wrong with the URL of an input, for parsePayload. */
  readonly fault = (url: string): { readonly message: string } | undefined => {
    try {
      const own = this.#ownName(url);
      checkInputLocation(
        own === undefined ? url : `${this.#urls.jobBase}/data/${own.name}`,
        this.#urls.policy,
      );
      return undefined;
    } catch (error) {
      if (error instanceof MucastError) return { message: error.message };
      throw error;
    }
  };

  /**
   * A stored place as the URL that a job reads. Where a folder holds the blobs, a job knows those of its caller's space
   * by the URLs that the caller knows.
   */
  readonly urlOf = (stored: string): string => {
    const { jobBase, policy } = this.#urls;
    const place = storageKeyOf(stored);
    if (place === undefined) return stored;
    return policy.container === undefined ? `${jobBase}/data/${place.name}` : `${jobBase}${stored}`;
  };

  /** Where the inputs of a payload are. @throws MucastError url_not_allowed for a blob that is not the caller's to read. */
  async keep(
    caller: Caller,
    payload: Pick<ParsedPayload, "featureUrl" | "dataExtractorUrl">,
  ): Promise<StoredInputs> {
    const feature = await this.#kept(caller, "feature_url", payload.featureUrl);
    const prices = await this.#kept(caller, "data_extractor_url", payload.dataExtractorUrl);
    return {
      featureUrl: feature.stored,
      dataExtractorUrl: prices.stored,
      blobs: [feature, prices].flatMap(({ blob }) => blob ?? []),
    };
  }

  async #kept(caller: Caller, path: string, url: string): Promise<{ stored: string; blob?: StorageKey }> {
    const own = this.#ownName(url);
    if (own === undefined) {
      if (this.#isForeignSpace(caller, url)) throw notHis(path, url.split("?")[0]!);
      return { stored: url };
    }
    const { name, space } = own;
    const blob = await this.#owners.find(caller.subject, name);
    if (blob !== undefined && (space === undefined || space === blob.space)) {
      return { stored: storagePathOf(blob), blob };
    }
    const mayBeOpen = space === undefined || space === "";
    if (mayBeOpen && (await this.#owners.isOpen(name))) return { stored: storagePathOf({ name, space: "" }) };
    throw notHis(path, storagePathOf({ name, space: space ?? "" }));
  }

  /** Undefined for the URL of a blob that is not read by this service's right. */
  #ownName(url: string): OwnName | undefined {
    const { bases, policy } = this.#urls;
    const place = url.split("?")[0]!;
    const base = bases.find((candidate) => place.startsWith(`${candidate}/data/`));
    if (base !== undefined) return { name: place.slice(`${base}/data/`.length), space: undefined };
    // With a signature of the caller's own it is read by the caller's right, not by ours.
    const path = url === place ? this.#pathIn(policy.container, url) : undefined;
    if (path === undefined) return undefined;
    const space = spaceIn(path) ?? "";
    const key = space === "" ? path : path.slice(space.length + 1);
    return key.startsWith("data/") ? { name: key.slice("data/".length), space } : undefined;
  }

  /** Another caller's space is out of bounds whatever signature a URL carries. */
  #isForeignSpace({ subject }: Caller, url: string): boolean {
    const space = spaceIn(this.#pathIn(this.#urls.policy.container, url.split("?")[0]!) ?? "");
    return space !== undefined && space !== spaceOf(subject);
  }

  #pathIn(container: string | undefined, place: string): string | undefined {
    return container !== undefined && place.startsWith(`${container}/`)
      ? place.slice(container.length + 1)
      : undefined;
  }
}

function notHis(path: string, stored: string): MucastError {
  const message = `${path}: there is no blob ${stored} of this caller; upload it first, with the same credentials`;
  return new MucastError("url_not_allowed", message, { path, value: stored });
}
