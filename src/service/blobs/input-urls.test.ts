import assert from "node:assert/strict";
import { test } from "node:test";
import { policyOf } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { StorageKey } from "../store/blobs.ts";
import { InputUrls } from "./input-urls.ts";
import { type ServiceUrls, serviceBases } from "./storage.ts";

const CONTAINER = "https://acct.blob.core.windows.net/models";
const NAME = "feature_engine_1.json";
const OUTPUT = "ml_engine_1.json";

const bases = serviceBases("http://127.0.0.1:8080", "https://forecasts.example.com");
const rules = { allowed: [], privateOrigins: [] };
const mapped = bases.map((base) => ({ base, folder: "/blobs" }));
const inFolder = { bases, jobBase: bases[0]!, policy: policyOf({ ...rules, mapped }) };
const inContainer = { bases, jobBase: CONTAINER, policy: policyOf({ ...rules, blobUrl: CONTAINER }) };
const ALICE = { subject: "key:00000000000a11ce", scopes: new Set(["write"] as const) };
const LOCAL = { subject: "local", scopes: new Set(["write"] as const) };
const HERS = { name: NAME, space: "key-00000000000a11ce" };
const BENS = { name: NAME, space: "key-0000000000000be4" };
const STORED = `/${HERS.space}/data/${NAME}`;

const inputs = (url: string) => ({ featureUrl: url, dataExtractorUrl: url });

/** What the caller has, and whether the operator has put an input of that name there for all. */
function blobsWhere(urls: ServiceUrls, mine: StorageKey | undefined, isOpen = false): InputUrls {
  return new InputUrls(urls, {
    locate: async (_caller, name) => (name === mine?.name ? mine : undefined),
    isOpen: async (name) => name === NAME && isOpen,
  });
}

/** What a caller's row stores for a URL, and the recorded blobs among both inputs. */
async function resolve(urls: InputUrls, url: string, caller: typeof ALICE | typeof LOCAL = ALICE) {
  const { featureUrl, blobs } = await urls.resolve(caller, inputs(url));
  return [featureUrl, ...blobs];
}

function isNotAllowed(error: unknown): boolean {
  assert.ok(error instanceof MucastError);
  return error.code === "url_not_allowed" && !JSON.stringify([error.message, error.data]).includes("s3cret");
}

for (const [where, urls] of Object.entries({ inFolder, inContainer })) {
  const [hers, none, open] = [
    blobsWhere(urls, HERS),
    blobsWhere(urls, undefined),
    blobsWhere(urls, undefined, true),
  ];

  test(`every allowed spelling of an own blob's URL names that blob, ${where}`, async () => {
    const spellings = bases.map((base) => `${base}/data/${NAME}`);
    if (urls === inContainer) spellings.push(CONTAINER + STORED);
    for (const url of spellings) {
      assert.equal(hers.fault(url), undefined, url);
      assert.deepEqual(await resolve(hers, url), [STORED, HERS, HERS]);
      await assert.rejects(resolve(none, url), isNotAllowed, url);
    }
    for (const url of bases.flatMap((base) => [`${base}/data/${NAME}?`, `${base}/data/${NAME}?sv=1`]))
      await assert.rejects(resolve(none, url), isNotAllowed, url);
    for (const path of [`/data/${NAME}`, `/data/${NAME}?`, STORED, `/data//data/${NAME}`])
      assert.match(hers.fault(path)?.message ?? "", /is not a URL/, path);
  });

  test(`the URL of an own blob may begin with the origin of the request, ${where}`, async () => {
    const origin = "http://forecaster:9000";
    const url = `${origin}/data/${NAME}`;
    assert.notEqual(hers.fault(url), undefined);
    assert.equal(hers.reachedAt(undefined), hers);
    const reached = hers.reachedAt(origin);
    assert.equal(reached.fault(url), undefined);
    assert.deepEqual(await resolve(reached, url), [STORED, HERS, HERS]);
    await assert.rejects(resolve(none.reachedAt(origin), url), isNotAllowed);
    assert.notEqual(reached.fault(`http://forecaster:9001/data/${NAME}`), undefined);
  });

  test(`no signature opens the space of another caller, ${where}`, async () => {
    const openToHer = blobsWhere(urls, HERS, true);
    for (const base of [CONTAINER, ...bases]) {
      for (const query of ["", "?", "?sv=1&sig=s3cret"]) {
        const url = `${base}/${BENS.space}/data/${NAME}${query}`;
        if (openToHer.fault(url) !== undefined) continue;
        for (const caller of [ALICE, LOCAL])
          await assert.rejects(resolve(openToHer, url, caller), isNotAllowed, url);
      }
    }
  });

  test(`an unrecorded blob is read where the operator has put it there, ${where}`, async () => {
    const spellings = [`${bases[0]}/data/${NAME}`];
    if (urls === inContainer) spellings.push(`${CONTAINER}/data/${NAME}`);
    for (const url of spellings) {
      assert.deepEqual(await resolve(open, url), [`/data/${NAME}`]);
      await assert.rejects(resolve(none, url), isNotAllowed);
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
  await assert.rejects(resolve(none, `${bases[0]}/data/${NAME}`), {
    code: "url_not_allowed",
    data: {
      path: "feature_url",
      value: `/data/${NAME}`,
      title: "The caller has no such blob",
      advice: "Upload the blob first, or correct its name in the URL.",
    },
  });
});

test("a URL of the container names the blob at the root, not the caller's blob of that name", async () => {
  const url = `${CONTAINER}/data/${NAME}`;
  assert.deepEqual(await resolve(blobsWhere(inContainer, HERS, true), url), [`/data/${NAME}`]);
  await assert.rejects(resolve(blobsWhere(inContainer, HERS), url), isNotAllowed);
  const old = { name: NAME, space: "" };
  assert.deepEqual(await resolve(blobsWhere(inContainer, old), url), [`/data/${NAME}`, old, old]);
});

test("a job reads a blob of its caller by the URL that the caller uses", () => {
  const other = "https://a.example/c/data/x.json";
  for (const [urls, stored, url] of [
    [inFolder, STORED, `${bases[0]}/data/${NAME}`],
    [inContainer, STORED, CONTAINER + STORED],
    [inContainer, `/data/${NAME}`, `${CONTAINER}/data/${NAME}`],
    [inFolder, other, other],
  ] as const)
    assert.equal(blobsWhere(urls, HERS).urlOf(stored), url);
});

test("the URLs of an audit and a replay are checked and kept as inputs are, each by the name that it may have", async () => {
  const found = { name: OUTPUT, space: HERS.space };
  const urls = blobsWhere(inContainer, found);
  const own = `${bases[0]}/data/${OUTPUT}`;
  assert.equal(urls.fault(own, "output"), undefined);
  assert.match(urls.fault(own, "input")!.message, /does not end in/);
  assert.match(urls.fault(`${bases[0]}/data/${NAME}`, "output")!.message, /does not end in/);
  const kept = await urls.resolve(ALICE, { ...inputs(""), options: { output_url: own, portable: true } });
  const output_url = `/${HERS.space}/data/${OUTPUT}`;
  assert.deepEqual(kept, { ...inputs(""), options: { output_url, portable: true }, blobs: [found] });
  for (const url of [`${CONTAINER}/${BENS.space}/data/${OUTPUT}?sig=s3cret`, `${bases[0]}/data/${NAME}`])
    for (const name of ["output_url", "previous_feature_url", "previous_data_extractor_url"])
      await assert.rejects(urls.resolve(ALICE, { ...inputs(""), options: { [name]: url } }), isNotAllowed);
});
