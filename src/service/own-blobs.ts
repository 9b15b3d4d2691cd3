import { checkInputLocation } from "../blob/place.ts";
import type { BlobPolicy } from "../blob/policy.ts";
import { MucastError } from "../contract/errors.ts";
import type { ParsedPayload } from "../contract/parse-payload.ts";
import type { Caller } from "./operations.ts";

/** Under which URLs this service's own blobs are known, and where they lie. */
export interface OwnPlaces {
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
export function ownBases(address: string, publicUrl: string | undefined): string[] {
  const { port } = new URL(address);
  const loopback = ["127.0.0.1", "localhost", "[::1]"].map((host) => `http://${host}:${port || 80}`);
  return [...new Set([...(publicUrl === undefined ? [] : [publicUrl]), address, ...loopback])];
}

/** Whose a blob of this service is. */
export interface BlobOwners {
  /** Undefined where nobody has claimed it. */
  ownerOf(name: string): Promise<string | undefined>;
  /** Whether anyone may read what nobody has claimed: the operator has put it there. */
  isOpen(name: string): Promise<boolean>;
}

/**
 * Payload URLs that name the service's own blobs are kept as `/data/<name>`, so that they stay right when the service
 * comes back at another address, or another service on the same storage runs the job.
 */
export class OwnBlobs {
  readonly #places: OwnPlaces;
  readonly #owners: BlobOwners;

  constructor(places: OwnPlaces, owners: BlobOwners) {
    this.#places = places;
    this.#owners = owners;
  }

  /** What is wrong with the URL of an input, for parsePayload. */
  readonly fault = (url: string): { readonly message: string } | undefined => {
    try {
      const stored = this.#stored(url);
      // A path that a caller has written is no URL, though it looks like one of ours as we keep them.
      checkInputLocation(stored === url ? url : this.urlOf(stored), this.#places.policy);
      return undefined;
    } catch (error) {
      if (error instanceof MucastError) return { message: error.message };
      throw error;
    }
  };

  /** A stored place as the URL that a job reads. */
  readonly urlOf = (stored: string): string =>
    stored.startsWith("/data/") ? `${this.#places.jobBase}${stored}` : stored;

  /** The payload as it is kept. @throws MucastError url_not_allowed for a blob that belongs to somebody else. */
  async keep(caller: Caller, payload: ParsedPayload): Promise<ParsedPayload> {
    const kept = {
      ...payload,
      featureUrl: this.#stored(payload.featureUrl),
      dataExtractorUrl: this.#stored(payload.dataExtractorUrl),
    };
    await this.#checkOwner(caller, "feature_url", kept.featureUrl);
    await this.#checkOwner(caller, "data_extractor_url", kept.dataExtractorUrl);
    return kept;
  }

  #stored(url: string): string {
    const { bases, policy } = this.#places;
    const place = url.split("?")[0]!;
    const base = bases.find((candidate) => place.startsWith(`${candidate}/data/`));
    if (base !== undefined) return place.slice(base.length);
    // With a signature of the caller's own it is read by the caller's right, not by ours.
    const isOurs =
      policy.container !== undefined && url === place && url.startsWith(`${policy.container}/data/`);
    return isOurs ? url.slice(policy.container!.length) : url;
  }

  async #checkOwner(caller: Caller, path: string, stored: string): Promise<void> {
    if (!stored.startsWith("/data/")) return;
    const name = stored.slice("/data/".length);
    const owner = await this.#owners.ownerOf(name);
    if (owner === caller.subject) return;
    if (owner === undefined && (await this.#owners.isOpen(name))) return;
    const message = `${path}: there is no blob ${stored} of this caller; upload it first, with the same credentials`;
    throw new MucastError("url_not_allowed", message, { path, value: stored });
  }
}
