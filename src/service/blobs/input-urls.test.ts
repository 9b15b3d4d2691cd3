import assert from "node:assert/strict";
import { test } from "node:test";
import { policyOf } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { StorageKey } from "../store/blobs.ts";
import { InputUrls } from "./input-urls.ts";
import { type ServiceUrls, serviceBases } from "./storage.ts";

const ADDRESS = "http://127.0.0.1:8080";
const CONTAINER = "https://acct.blob.core.windows.net/models";
const NAME = "feature_engine_1.json";

const bases = serviceBases(ADDRESS, "https://forecasts.example.com");
const rules = { allowed: [], privateOrigins: [] };
const folder = { base: "", folder: "/blobs" };
const inFolder = {
  bases,
  jobBase: bases[0]!,
  policy: policyOf({ ...rules, mapped: bases.map((base) => ({ ...folder, base })) }),
};
const inContainer = { bases, jobBase: CONTAINER, policy: policyOf({ ...rules, blobUrl: CONTAINER }) };
const ALICE = { subject: "key:00000000000a11ce", scopes: new Set(["write"] as const) };
const LOCAL = { subject: "local", scopes: new Set(["write"] as const) };
const HERS = { name: NAME, space: "key-00000000000a11ce" };
const BENS = { name: NAME, space: "key-0000000000000be4" };

function payload(url: string) {
  return { featureUrl: url, dataExtractorUrl: url };
}

/** What the caller has of that name, and whether the operator has put one there for all. */
function blobsWhere(urls: ServiceUrls, mine: StorageKey | undefined, isOpen = false): InputUrls {
  return new InputUrls(urls, {
    locate: async (_caller, name) => (name === NAME ? mine : undefined),
    isOpen: async (name) => name === NAME && isOpen,
  });
}

for (const [where, urls] of Object.entries({ inFolder, inContainer })) {
  test(`every allowed spelling of an own blob's URL names that blob, ${where}`, async () => {
    const spellings = bases.map((base) => `${base}/data/${NAME}`);
    if (urls === inContainer) spellings.push(`${CONTAINER}/${HERS.space}/data/${NAME}`);
    const [hers, none] = [blobsWhere(urls, HERS), blobsWhere(urls, undefined)];
    for (const url of spellings) {
      assert.equal(hers.fault(url), undefined, url);
      const kept = await hers.resolve(ALICE, payload(url));
      assert.deepEqual([kept.featureUrl, kept.blobs], [`/${HERS.space}/data/${NAME}`, [HERS, HERS]]);
      await assert.rejects(none.resolve(ALICE, payload(url)), isNotAllowed, url);
    }
    for (const url of bases.flatMap((base) => [`${base}/data/${NAME}?`, `${base}/data/${NAME}?sv=1`])) {
      await assert.rejects(none.resolve(ALICE, payload(url)), isNotAllowed, url);
    }
  });

  test(`the URL of an own blob may begin with the origin of the request, ${where}`, async () => {
    const hers = blobsWhere(urls, HERS);
    const origin = "http://forecaster:9000";
    const url = `${origin}/data/${NAME}`;
    assert.notEqual(hers.fault(url), undefined);
    assert.equal(hers.reachedAt(undefined), hers);
    const reached = hers.reachedAt(origin);
    assert.equal(reached.fault(url), undefined);
    const kept = await reached.resolve(ALICE, payload(url));
    assert.deepEqual([kept.featureUrl, kept.blobs], [`/${HERS.space}/data/${NAME}`, [HERS, HERS]]);
    await assert.rejects(
      blobsWhere(urls, undefined).reachedAt(origin).resolve(ALICE, payload(url)),
      isNotAllowed,
    );
    assert.notEqual(reached.fault(`http://forecaster:9001/data/${NAME}`), undefined);
  });

  test(`no signature opens the space of another caller, ${where}`, async () => {
    const hers = blobsWhere(urls, HERS, true);
    for (const base of [CONTAINER, ...bases]) {
      for (const query of ["", "?", "?sv=1&sig=s3cret"]) {
        const url = `${base}/${BENS.space}/data/${NAME}${query}`;
        if (hers.fault(url) !== undefined) continue;
        await assert.rejects(hers.resolve(ALICE, payload(url)), isNotAllowed, url);
        await assert.rejects(hers.resolve(LOCAL, payload(url)), isNotAllowed, url);
      }
    }
  });

  test(`an unrecorded blob is read where the operator has put it there, ${where}`, async () => {
    const spellings = [`${bases[0]}/data/${NAME}`];
    if (urls === inContainer) spellings.push(`${CONTAINER}/data/${NAME}`);
    for (const url of spellings) {
      const kept = await blobsWhere(urls, undefined, true).resolve(ALICE, payload(url));
      assert.deepEqual([kept.featureUrl, kept.blobs], [`/data/${NAME}`, []]);
      await assert.rejects(blobsWhere(urls, undefined, false).resolve(ALICE, payload(url)), isNotAllowed);
    }
  });

  test(`a path is no URL, even where it looks like a stored path, ${where}`, () => {
    const own = blobsWhere(urls, HERS);
    for (const path of [
      `/data/${NAME}`,
      `/data/${NAME}?`,
      `/${HERS.space}/data/${NAME}`,
      `/data//data/${NAME}`,
    ]) {
      assert.match(own.fault(path)?.message ?? "", /is not a URL/, path);
    }
  });
}

test("the errors for a misnamed and for a missing blob do not depend on other callers' blobs", async () => {
  const none = blobsWhere(inFolder, undefined);
  for (const urls of [none, blobsWhere(inFolder, HERS)]) {
    const { message, heading } = urls.fault(`${bases[0]}/data/feature_engine.json`)!;
    assert.match(message, /does not end in \/data\/feature_engine_<id>\.json/);
    assert.match(heading!.title!, /does not name an input/);
  }
  await assert.rejects(none.resolve(ALICE, payload(`${bases[0]}/data/${NAME}`)), (error) => {
    assert.ok(error instanceof MucastError && isNotAllowed(error));
    assert.deepEqual(error.data, {
      path: "feature_url",
      value: `/data/${NAME}`,
      title: "The caller has no such blob",
      advice: "Upload the blob first, or correct its name in the URL.",
    });
    return true;
  });
});

test("a URL of the container names the blob at the root, not the caller's blob of that name", async () => {
  const url = `${CONTAINER}/data/${NAME}`;
  const kept = await blobsWhere(inContainer, HERS, true).resolve(ALICE, payload(url));
  assert.deepEqual([kept.featureUrl, kept.blobs], [`/data/${NAME}`, []]);
  await assert.rejects(blobsWhere(inContainer, HERS, false).resolve(ALICE, payload(url)), isNotAllowed);
  const old = { name: NAME, space: "" };
  assert.deepEqual((await blobsWhere(inContainer, old).resolve(ALICE, payload(url))).blobs, [old, old]);
});

test("a job reads a blob of its caller by the URL that the caller uses", () => {
  const stored = `/${HERS.space}/data/${NAME}`;
  assert.equal(blobsWhere(inFolder, HERS).urlOf(stored), `${bases[0]}/data/${NAME}`);
  assert.equal(blobsWhere(inContainer, HERS).urlOf(stored), CONTAINER + stored);
  assert.equal(blobsWhere(inContainer, HERS).urlOf(`/data/${NAME}`), `${CONTAINER}/data/${NAME}`);
  assert.equal(
    blobsWhere(inFolder, HERS).urlOf("https://a.example/c/data/x.json"),
    "https://a.example/c/data/x.json",
  );
});

function isNotAllowed(error: unknown): boolean {
  return error instanceof MucastError && error.code === "url_not_allowed";
}

test("the URLs of an audit and a replay are checked and kept as inputs are, each by the name that it may have", async () => {
  const output = "ml_engine_1.json";
  const found = { name: output, space: HERS.space };
  const urls = new InputUrls(inContainer, {
    locate: async (_caller, name) => (name === output ? found : undefined),
    isOpen: async () => false,
  });
  const own = `${bases[0]}/data/${output}`;
  assert.equal(urls.fault(own, "output"), undefined);
  assert.match(urls.fault(own, "input")!.message, /does not end in/);
  assert.match(urls.fault(`${bases[0]}/data/${NAME}`, "output")!.message, /does not end in/);
  const none = { featureUrl: "", dataExtractorUrl: "" };
  const kept = await urls.resolve(ALICE, { ...none, options: { output_url: own, portable: true } });
  const output_url = `/${HERS.space}/data/${output}`;
  assert.deepEqual(kept, { ...none, options: { output_url, portable: true }, blobs: [found] });
  for (const url of [`${CONTAINER}/${BENS.space}/data/${output}?sig=s3cret`, `${bases[0]}/data/${NAME}`]) {
    for (const name of ["output_url", "previous_feature_url", "previous_data_extractor_url"]) {
      const refused = urls.resolve(ALICE, { ...none, options: { [name]: url } });
      await assert.rejects(refused, (error) => isNotAllowed(error) && !String(error).includes("s3cret"));
    }
  }
});
