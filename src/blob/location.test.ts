import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MucastError } from "../contract/errors/errors.ts";
import { checkLocation, isRemoteUrl, isUrl, locationOf } from "./location.ts";
import { withSpace } from "./names.ts";
import { type BlobPolicy, blobPolicy, policyOf, s3PlaceOf } from "./policy.ts";

const BLOB = "data/feature_engine_1.json";
const HOST = "https://acct.blob.example.net";
const CONTAINER = `${HOST}/models`;
const ALLOWED: BlobPolicy = { allowed: [CONTAINER] };
const SPACES = ["key-0123456789abcdef", "key-00000000000000be"] as const;
const MAPPED_BASES = ["http://127.0.0.1:8080", "http://localhost:8080", "https://mucast.example/api"];
const MAPPED: BlobPolicy = {
  allowed: ["https://a.example/c"],
  mapped: MAPPED_BASES.map((base) => ({ base, folder: "/srv/blobs" })),
};

const check = (url: string, policy = ALLOWED) => checkLocation(url, policy, "input");

/** Checks that no refusal shows a secret. */
function refusal(url: string, policy = ALLOWED): MucastError {
  try {
    const found = check(url, policy);
    return assert.fail(`${url} was allowed: ${JSON.stringify(found)}`);
  } catch (error) {
    assert.ok(error instanceof MucastError, String(error));
    assert.equal(error.code, "url_not_allowed", error.message);
    assert.doesNotMatch(JSON.stringify([error.message, error.data, String(error.cause)]), /SECRET/);
    return error;
  }
}

test("allows both input blobs of an allowed container, even in a folder below it and with a SAS", () => {
  for (const end of [
    BLOB,
    `${BLOB}?sv=2024&sig=a%2Fb%3D`,
    "data/data_extractor_a-b_C9.json",
    `t-1/run.2/${BLOB}`,
  ]) {
    const found = check(`${CONTAINER}/${end}`);
    assert.equal(found.kind === "remote" && found.url.href, `${CONTAINER}/${end}`);
  }
});

test("refuses each spelling that a parser would change into another URL, and each other place", () => {
  const origins = `http://acct.blob.example.net ftp://acct.blob.example.net HTTPS://acct.blob.example.net
    https:acct.blob.example.net https:/acct.blob.example.net https:\\\\acct.blob.example.net https:///acct.blob.example.net
    https://ACCT.blob.example.net ${HOST}. ${HOST}: ${HOST}:443 ${HOST}:8443 ${HOST}@evil.example https://@acct.blob.example.net
    https://user@acct.blob.example.net https://user:SECRET@acct.blob.example.net ${HOST}.evil.example https://evil.example
    https://acct.blob.еxample.net https://acct%2eblob.example.net https://acct。blob.example.net https:// https://[::1`;
  const folders = `models2 Models /models models/ models/../other other/../models models/. models/%2e%2e/other
    models/%2E%2E%2Fother models/..%2fother models/..\\other models\\x models/%5c..%5cother models;x models/.hidden models?`;
  const names = `feature_engine_1.json#x feature_engine_1.json# feature_engine_1.json/ feature_engine_1.json%00
    feature_engine_%31.json feature_engine_.json feature_engine_${"1".repeat(65)}.json feature_engine_1.JSON ml_engine_1.json
    x/feature_engine_1.json ../feature_engine_1.json`;
  const words = (text: string) => text.split(/\s+/);
  for (const url of [
    ...words(origins).map((origin) => `${origin}/models/${BLOB}`),
    ...words(folders).map((folder) => `${HOST}/${folder}/${BLOB}`),
    ...words(names).map((name) => `${CONTAINER}/data/${name}`),
    ...[`${HOST}/${BLOB}`, `${CONTAINER}/feature_engine_1.json`, `${CONTAINER}/da\tta/feature_engine_1.json`],
    ...[` ${CONTAINER}/${BLOB}`, `${CONTAINER}/${BLOB}\n`, `${CONTAINER}/${BLOB}?a b`],
  ])
    refusal(url);
});

test("refuses an unusual spelling of an allowed address", () => {
  const privateOrigins = ["https://127.0.0.1:8443", "https://[::1]:8443"];
  const policy = { allowed: privateOrigins.map((origin) => `${origin}/c`), privateOrigins };
  for (const origin of privateOrigins) check(`${origin}/c/${BLOB}`, policy);
  for (const host of "127.1 2130706433 0x7f.0.0.1 0177.0.0.1 127.0.0.1. [::0:1] [::ffff:127.0.0.1]".split(
    " ",
  ))
    refusal(`https://${host}:8443/c/${BLOB}`, policy);
});

test("requests every allowed URL as it is spelt, and under an allowed prefix", () => {
  const good = `${CONTAINER}/${BLOB}`;
  const pieces = `https:// acct.blob.example.net /models /data/ feature_engine_1.json .. / \\ %2f %2e @ :443 : ? # x . // \t A [::1] ;`;
  const piece = fc.constantFrom(...pieces.split(" "));
  const mutated = fc
    .tuple(fc.nat(good.length), fc.nat(3), fc.array(piece, { maxLength: 3 }))
    .map(([at, cut, found]) => good.slice(0, at) + found.join("") + good.slice(at + cut));
  const built = fc.array(piece, { maxLength: 9 }).map((found) => found.join(""));
  let allowed = 0;
  fc.assert(
    fc.property(fc.oneof(mutated, built), (text) => {
      let found: ReturnType<typeof check>;
      try {
        found = check(text);
      } catch (error) {
        return error instanceof MucastError && error.code === "url_not_allowed";
      }
      assert.ok(found.kind === "remote");
      allowed += 1;
      const asked = `https://${found.url.host}${found.url.pathname}`;
      const climbs = /%|\\/.test(asked) || asked.split("/").includes("..");
      return (
        asked.startsWith(`${CONTAINER}/`) && asked === text.split("?")[0] && !found.url.username && !climbs
      );
    }),
    { numRuns: 3000 },
  );
  assert.ok(allowed > 0, "no mutation was harmless, so the property saw nothing");
});

test("a refusal shows neither query nor password", () => {
  const good = `${CONTAINER}/${BLOB}`;
  for (const end of ["x?sig=SECRET", "#SECRET", ";sig=SECRET", "&sig=SECRET", "%3Fsig=SECRET"])
    refusal(good + end);
  for (const start of [
    "https://me:SECRET@",
    "https://me:SEC/SECRET@",
    "https:\\\\me:SECRET@",
    "https:me:SECRET@",
  ])
    refusal(`${start}a.example/c`);
  for (const url of ["https://a b?SECRET", `"${good}?sig=SECRET"`, ` ${good}?sig=SECRET`]) refusal(url);
});

test("a URL under a mapped base is the file it maps to, named by the URL without its query", () => {
  for (const base of MAPPED_BASES)
    for (const query of ["", "?x=1"])
      assert.deepEqual(check(`${base}/${BLOB}${query}`, MAPPED), {
        ...{ kind: "mapped", key: BLOB, base, folder: "/srv/blobs", name: `${base}/${BLOB}` },
      });
});

test("maps only the names of inputs, and no other spelling", () => {
  const names = `data/ml_engine_1.json status/1.1.json data/../status/feature_engine_1.json data/x/feature_engine_1.json
    x/${BLOB} /${BLOB} data//feature_engine_1.json data/%2e%2e/feature_engine_1.json ${BLOB}/ ${BLOB}#x data/.feature_engine_1.json`;
  for (const name of names.split(/\s+/)) refusal(`${MAPPED_BASES[0]}/${name}`, MAPPED);
  const bases = `http://127.0.0.1:8081 http://127.1:8080 http://127.0.0.1:8080@evil.example HTTP://127.0.0.1:8080
    http://127.0.0.1:8080.evil.example https://127.0.0.1:8080 https://mucast.example https://mucast.example/apix`;
  for (const base of bases.split(/\s+/)) refusal(`${base}/${BLOB}`, MAPPED);
});

test("the error for a wrong name in an allowed place says what names look like", () => {
  for (const base of [...MAPPED_BASES, "https://a.example/c"])
    for (const [name, fault] of [
      ["feature_engine_.json", "does not end in /data/feature_engine_<id>.json or "],
      ["ml_engine_1.json", "does not end in /data/feature_engine_<id>.json or "],
      ["feature_engine_my id.json", "contains a space, "],
    ] as const) {
      const { message, data } = refusal(`${base}/data/${name}?sig=SECRET`, MAPPED);
      assert.ok(message.startsWith(`${base}/data/${name} ${fault}`), message);
      assert.equal(data.title, "The URL does not name an input");
      assert.match(data.advice!, /feature_engine_<id>\.json .* <id> is 1 to 64 letters/);
    }
  const elsewhere = refusal(`https://b.example/c/${BLOB}`, MAPPED);
  assert.deepEqual([elsewhere.data.title, elsewhere.data.advice], [undefined, undefined]);
});

test("refuses an IP address that is not public before any request, unless its origin is listed", () => {
  for (const host of ["127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]", "[fd00::1]", "[::ffff:a00:1]"]) {
    const origin = `https://${host}`;
    const allowed = [`${origin}/c`];
    const { message } = refusal(`${origin}/c/${BLOB}`, { allowed });
    assert.ok(message.includes(`${origin} in MUCAST_PRIVATE_ORIGINS`), message);
    const found = check(`${origin}/c/${BLOB}`, { allowed, privateOrigins: [origin] });
    assert.deepEqual([found.kind, found.kind === "remote" && found.addresses], ["remote", "any"]);
  }
  assert.equal(check(`https://8.8.8.8/c/${BLOB}`, { allowed: ["https://8.8.8.8/c"] }).kind, "remote");
});

test("allows http only for listed loopback origins, and only to loopback addresses", () => {
  const policy = blobPolicy({
    MUCAST_ALLOWED_BLOB_URLS: "http://127.0.0.1:10000/acct/c http://localhost:10000/acct/c",
    MUCAST_PRIVATE_ORIGINS: "http://127.0.0.1:10000,http://localhost:10000 https://10.0.0.1:8443",
  });
  for (const origin of ["http://127.0.0.1:10000", "http://localhost:10000"]) {
    const found = check(`${origin}/acct/c/${BLOB}?sig=x`, policy);
    assert.deepEqual([found.kind, found.kind === "remote" && found.addresses], ["remote", "loopback"]);
    refusal(`${origin}/acct/other/${BLOB}`, policy);
  }
  refusal(`http://127.0.0.1:10001/acct/c/${BLOB}`, policy);
});

test("reads a blob in BLOB_URL's container with its credentials, unless its URL has a SAS", () => {
  const container = "https://a.example/c";
  const policy = blobPolicy({ BLOB_URL: `${container}?sig=SECRET` });
  assert.doesNotMatch(JSON.stringify(policy), /SECRET/);
  for (const place of [container, `${container}/${SPACES[0]}`]) {
    const expected = { kind: "container", key: BLOB, container: place, name: `${place}/${BLOB}` };
    assert.deepEqual(check(`${place}/${BLOB}`, policy), expected);
  }
  for (const end of [`${BLOB}?sig=x`, `undefined/${BLOB}`, `team/${BLOB}`])
    assert.equal(check(`${container}/${end}`, policy).kind, "remote");
  refusal(
    `${container}/${BLOB}`,
    policyOf({ allowed: ["https://b.example/c"], privateOrigins: [], blobUrl: container }),
  );
});

test("the command line also accepts paths and file: URLs", () => {
  for (const [location, path] of [
    ["data/f.json", "data/f.json"],
    ["file:///srv/f.json", "/srv/f.json"],
  ] as const)
    assert.deepEqual(locationOf(location, MAPPED), { kind: "file", path, name: location });
});

test("reads no spelling of another caller's space with the credentials of the container", () => {
  const [own, other] = SPACES;
  const disguised = `KEY-00000000000000be Key-00000000000000be %6bey-00000000000000be key%2D00000000000000be ${other}. ./${other}
    x/../${other} /${other} ${other}/ ${other}\\ ${other}/${own} ${own}/${other} ${own}/../${other}`;
  const container = "https://a.example/c";
  for (const space of ["", own]) {
    const policy = {
      ...policyOf({ allowed: [container], privateOrigins: [], blobUrl: container }),
      own: { space, named: [] },
    };
    for (const disguise of disguised.split(/\s+/))
      for (const place of [
        container,
        "https://A.example/c",
        "https://a.example/C",
        "https://a.example:443/c",
      ]) {
        const url = `${place}/${disguise}/${BLOB}`;
        let kind = "refused";
        try {
          ({ kind } = check(url, policy));
        } catch (error) {
          assert.ok(error instanceof MucastError && error.code === "url_not_allowed", url);
        }
        // Unchanged and without credentials, as for any reader.
        assert.ok(kind === "refused" || kind === "remote", url);
      }
  }
});

test("a caller's job reads the container's blobs of its own space, and others only if its order names them", () => {
  const container = "https://a.example/c";
  const [own, other] = SPACES;
  const root = `${container}/${BLOB}`;
  const policy = {
    ...policyOf({ allowed: [container, "https://b.example/c"], privateOrigins: [], blobUrl: container }),
    own: { space: own, named: [root] },
  };
  assert.equal(check(`${container}/${own}/${BLOB}`, policy).kind, "container");
  assert.equal(check(root, policy).kind, "container");
  assert.equal(check(`https://b.example/c/${BLOB}`, policy).kind, "remote");
  for (const url of [`${container}/${other}/${BLOB}`, `${container}/data/feature_engine_2.json`])
    for (const query of ["", "?sv=1&sig=SECRET"])
      assert.match(refusal(`${url}${query}`, policy).message, /is not a blob of this caller$/);
});

test("BLOB_URL may be a bucket or a folder in one, and allows its own blobs", () => {
  for (const url of ["s3://models", "s3://models/team-1/run.2", "s3://my.bucket.example/a"]) {
    const policy = blobPolicy({ BLOB_URL: url });
    assert.deepEqual([policy.allowed, policy.container], [[url], url]);
    const name = `${url}/${BLOB}`;
    assert.deepEqual(check(name, policy), { kind: "container", key: BLOB, container: url, name });
    const space = `${url}/${SPACES[0]}`;
    assert.equal(withSpace(url, SPACES[0]), space);
    assert.equal(check(`${space}/${BLOB}`, policy).kind, "container");
    refusal(`${url}/other/${BLOB}`, policy);
  }
  assert.deepEqual(s3PlaceOf("s3://models/a/b"), { bucket: "models", folder: "a/b" });
  assert.deepEqual(s3PlaceOf("s3://models"), { bucket: "models", folder: "" });
  assert.ok(isUrl("s3:models") && isRemoteUrl("s3://models"));
});

test("refuses buckets and folders in any other spelling", () => {
  const spellings = `s3: s3:// s3:models s3:/models S3://models s3://Models s3://mo s3://-models s3://models. s3://mo..dels
    s3://models:443 s3://key@models s3://key:SECRET@models s3://models//team s3://models/../team s3://models/./team
    s3://models/%2e%2e/team s3://models/team?versionId=1 s3://models\\team`;
  for (const url of spellings.split(/\s+/)) {
    assert.throws(
      () => blobPolicy({ MUCAST_ALLOWED_BLOB_URLS: url }),
      (error: MucastError) => error.code === "invalid_request" && !/SECRET/.test(error.message),
      url,
    );
    refusal(`${url}/${BLOB}`, { allowed: [url], container: url });
  }
});

test("allows other buckets only if they are listed, and never a query or another caller's space", () => {
  const listed = policyOf({
    ...{ allowed: ["s3://models/team", "s3://elsewhere/x"], privateOrigins: [], blobUrl: "s3://models/team" },
  });
  assert.equal(check(`s3://elsewhere/x/deep/${BLOB}`, listed).kind, "container");
  for (const place of ["s3://elsewhere", "s3://elsewhere/x2", "s3://models", "s3://models/team2"])
    refusal(`${place}/${BLOB}`, listed);
  for (const end of [`${BLOB}#y`, "data/ml_engine_1.json"]) refusal(`s3://elsewhere/x/${end}`, listed);
  const signed = `s3://elsewhere/x/${BLOB}?X-Amz-Signature=SECRET`;
  assert.match(refusal(signed, listed).message, /has a query string/);

  const [own, other] = SPACES;
  const whole = {
    ...policyOf({ allowed: ["s3://models"], privateOrigins: [], blobUrl: "s3://models/team" }),
    own: { space: own, named: [] },
  };
  for (const place of [`team/${own}`, "shared"])
    assert.equal(check(`s3://models/${place}/${BLOB}`, whole).kind, "container");
  for (const place of [`team/${other}`, `team/${other}/${own}`, "team"])
    refusal(`s3://models/${place}/${BLOB}`, whole);
});
