import assert from "node:assert/strict";
import { test } from "node:test";
import { policyOf } from "../blob/policy.ts";
import { MucastError } from "../contract/errors.ts";
import { OwnBlobs, ownBases } from "./own-blobs.ts";

const ADDRESS = "http://127.0.0.1:8080";
const CONTAINER = "https://acct.blob.core.windows.net/models";
const NAME = "feature_engine_1.json";

const bases = ownBases(ADDRESS, "https://forecasts.example.com");
const rules = { allowed: [], privateOrigins: [] };
const folder = { base: "", folder: "/blobs" };
const inFolder = {
  bases,
  jobBase: bases[0]!,
  policy: policyOf({ ...rules, mapped: bases.map((base) => ({ ...folder, base })) }),
};
const inContainer = { bases, jobBase: CONTAINER, policy: policyOf({ ...rules, blobUrl: CONTAINER }) };
const ALICE = { subject: "key:alice", scopes: new Set(["write"] as const) };

function payload(url: string) {
  return { featureUrl: url, dataExtractorUrl: url, config: "{}", canonical: "{}" };
}

for (const [where, places] of Object.entries({ inFolder, inContainer })) {
  const of = (owner: string | undefined, isOpen = false) =>
    new OwnBlobs(places, {
      ownerOf: async (name) => (name === NAME ? owner : undefined),
      isOpen: async (name) => name === NAME && isOpen,
    });

  test(`every spelling of an own blob that is let in is known as that blob, ${where}`, async () => {
    const spellings = [...bases, ...(where === "inContainer" ? [CONTAINER] : [])].map(
      (base) => `${base}/data/${NAME}`,
    );
    for (const url of spellings) {
      assert.equal(of("key:alice").fault(url), undefined, url);
      assert.equal((await of("key:alice").keep(ALICE, payload(url))).featureUrl, `/data/${NAME}`);
      await assert.rejects(of("key:bob").keep(ALICE, payload(url)), isNotAllowed, url);
    }
    for (const url of bases.flatMap((base) => [`${base}/data/${NAME}?`, `${base}/data/${NAME}?sv=1`])) {
      await assert.rejects(of("key:bob").keep(ALICE, payload(url)), isNotAllowed, url);
    }
  });

  test(`what nobody has claimed can be read where it is there to be read, ${where}`, async () => {
    const named = payload(`${bases[0]}/data/${NAME}`);
    assert.equal((await of(undefined, true).keep(ALICE, named)).featureUrl, `/data/${NAME}`);
    await assert.rejects(of(undefined, false).keep(ALICE, named), isNotAllowed);
    await assert.rejects(of("key:bob", true).keep(ALICE, named), isNotAllowed);
  });

  test(`a path is no URL, even where it looks like a blob as it is kept, ${where}`, () => {
    for (const path of [`/data/${NAME}`, `/data/${NAME}?`, `/data/${NAME}?sv=1`, `/data//data/${NAME}`]) {
      assert.match(of("key:bob").fault(path)?.message ?? "", /is not a URL/, path);
    }
  });
}

function isNotAllowed(error: unknown): boolean {
  return error instanceof MucastError && error.code === "url_not_allowed";
}
