import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../contract/errors/errors.ts";
import { checkLocation, isRemoteUrl, isUrl, locationOf } from "./location.ts";
import { withSpace } from "./names.ts";
import { type BlobPolicy, blobPolicy, policyOf, s3PlaceOf } from "./policy.ts";

const BLOB = "data/feature_engine_1.json";
const OWN = ["http://127.0.0.1:8080", "http://localhost:8080", "https://mucast.example/api"];
const MAPPED: BlobPolicy = {
  allowed: ["https://a.example/c"],
  mapped: OWN.map((base) => ({ base, folder: "/srv/blobs" })),
};

function refusal(location: string, policy: BlobPolicy): MucastError {
  try {
    const found = checkLocation(location, policy, "input");
    return assert.fail(`${location} was allowed: ${JSON.stringify(found)}`);
  } catch (error) {
    assert.ok(error instanceof MucastError, String(error));
    assert.equal(error.code, "url_not_allowed", error.message);
    return error;
  }
}

test("a URL under a mapped base is the file it maps to, named by the URL without its query", () => {
  for (const base of OWN) {
    for (const query of ["", "?x=1"]) {
      const found = checkLocation(`${base}/${BLOB}${query}`, MAPPED, "input");
      const { folder } = MAPPED.mapped![0]!;
      assert.deepEqual(found, { kind: "mapped", key: BLOB, base, folder, name: `${base}/${BLOB}` });
    }
  }
});

test("maps only the names of inputs, and no other spelling", () => {
  const own = OWN[0]!;
  for (const url of [
    `${own}/data/ml_engine_1.json`,
    `${own}/status/1.1.json`,
    `${own}/data/../status/feature_engine_1.json`,
    `${own}/data/feature_engine_../x.json`,
    `${own}/data/x/feature_engine_1.json`,
    `${own}/x/${BLOB}`,
    `${own}//${BLOB}`,
    `${own}/data//feature_engine_1.json`,
    `${own}/data/%2e%2e/feature_engine_1.json`,
    `${own}/data/feature_engine_1.json/`,
    `${own}/data/feature_engine_1.json#x`,
    `${own}/data/.feature_engine_1.json`,
    `http://127.0.0.1:8081/${BLOB}`,
    `http://127.1:8080/${BLOB}`,
    `http://127.0.0.1:8080@evil.example/${BLOB}`,
    `http://127.0.0.1:8080.evil.example/${BLOB}`,
    `https://127.0.0.1:8080/${BLOB}`,
    `https://mucast.example/${BLOB}`,
    `https://mucast.example/apix/${BLOB}`,
    `HTTP://127.0.0.1:8080/${BLOB}`,
  ]) {
    refusal(url, MAPPED);
  }
});

test("the error for a wrong name in an allowed place says what names look like", () => {
  const container = "https://a.example/c";
  for (const base of [...OWN, container]) {
    for (const name of [
      "feature_engine.json",
      "feature_engine_.json",
      "ml_engine_1.json",
      "prices.csv",
      "feature_engine_my id.json",
    ]) {
      const { message, data } = refusal(`${base}/data/${name}?sig=SECRET`, MAPPED);
      const fault = name.includes(" ")
        ? "contains a space, "
        : "does not end in /data/feature_engine_<id>.json or ";
      assert.ok(message.startsWith(`${base}/data/${name} ${fault}`), message);
      assert.equal(data.title, "The URL does not name an input");
      assert.match(data.advice!, /feature_engine_<id>\.json .* <id> is 1 to 64 letters/);
      assert.ok(!JSON.stringify([message, data]).includes("SECRET"));
    }
  }
  const elsewhere = refusal(`https://b.example/c/${BLOB}`, MAPPED);
  assert.deepEqual([elsewhere.data.title, elsewhere.data.advice], [undefined, undefined]);
});

test("refuses an IP address that is not public before any request, unless its origin is listed", () => {
  for (const host of ["127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]", "[fd00::1]", "[::ffff:a00:1]"]) {
    const origin = `https://${host}`;
    const allowed = [`${origin}/c`];
    const error = refusal(`${origin}/c/${BLOB}`, { allowed });
    assert.ok(error.message.includes(`${origin} in MUCAST_PRIVATE_ORIGINS`), error.message);
    const found = checkLocation(`${origin}/c/${BLOB}`, { allowed, privateOrigins: [origin] }, "input");
    assert.deepEqual([found.kind, found.kind === "remote" && found.addresses], ["remote", "any"]);
  }
  assert.equal(
    checkLocation(`https://8.8.8.8/c/${BLOB}`, { allowed: ["https://8.8.8.8/c"] }, "input").kind,
    "remote",
  );
});

test("allows http only for listed loopback origins, and only to loopback addresses", () => {
  const env = {
    MUCAST_ALLOWED_BLOB_URLS: "http://127.0.0.1:10000/acct/c http://localhost:10000/acct/c",
    MUCAST_PRIVATE_ORIGINS: "http://127.0.0.1:10000,http://localhost:10000 https://10.0.0.1:8443",
  };
  const policy = blobPolicy(env);
  for (const origin of ["http://127.0.0.1:10000", "http://localhost:10000"]) {
    const found = checkLocation(`${origin}/acct/c/${BLOB}?sig=x`, policy, "input");
    assert.deepEqual([found.kind, found.kind === "remote" && found.addresses], ["remote", "loopback"]);
    refusal(`${origin}/acct/other/${BLOB}`, policy);
  }
  refusal(`http://127.0.0.1:10001/acct/c/${BLOB}`, policy);
  for (const [allowed, listed] of [
    ["http://127.0.0.1:10000/c", ""],
    ["http://127.0.0.1:10000/c", "https://127.0.0.1:10000"],
    ["http://10.0.0.1/c", "https://10.0.0.1"],
    ["https://a.example/c", "http://10.0.0.1"],
    ["https://a.example/c", "http://a.example"],
    ["https://a.example/c", "https://a.example/c"],
    ["https://a.example/c", "https://a.example:443"],
    ["https://a.example/c", "https://me:SECRET@a.example"],
    ["https://a.example/c", "a.example"],
  ] as const) {
    assert.throws(
      () => blobPolicy({ MUCAST_ALLOWED_BLOB_URLS: allowed, MUCAST_PRIVATE_ORIGINS: listed }),
      (error) =>
        error instanceof MucastError && error.code === "invalid_request" && !error.message.includes("SECRET"),
      `${allowed} ${listed}`,
    );
  }
});

test("reads a blob in BLOB_URL's container with its credentials, unless its URL has a SAS", () => {
  const policy = blobPolicy({ BLOB_URL: "https://a.example/c?sig=SECRET" });
  assert.doesNotMatch(JSON.stringify(policy), /SECRET/);
  const name = `https://a.example/c/${BLOB}`;
  const { container } = policy;
  assert.deepEqual(checkLocation(name, policy, "input"), { kind: "container", key: BLOB, container, name });
  const space = "https://a.example/c/key-0123456789abcdef";
  const inSpace = { kind: "container", key: BLOB, container: space, name: `${space}/${BLOB}` };
  assert.deepEqual(checkLocation(`${space}/${BLOB}`, policy, "input"), inSpace, "a caller's space");
  assert.equal(checkLocation(`https://a.example/c/undefined/${BLOB}`, policy, "input").kind, "remote");
  assert.equal(checkLocation(`${name}?sig=x`, policy, "input").kind, "remote");
  assert.equal(checkLocation(`https://a.example/c/team/${BLOB}`, policy, "input").kind, "remote");
  const listed = policyOf({
    allowed: ["https://b.example/c"],
    privateOrigins: [],
    blobUrl: "https://a.example/c",
  });
  refusal(name, listed);
});

test("the command line also accepts paths and file: URLs", () => {
  assert.deepEqual(locationOf("data/f.json", MAPPED), {
    kind: "file",
    path: "data/f.json",
    name: "data/f.json",
  });
  assert.deepEqual(locationOf("file:///srv/f.json", MAPPED), {
    kind: "file",
    path: "/srv/f.json",
    name: "file:///srv/f.json",
  });
});

/** Prefixes of a blob's key in another caller's space, in spellings that a storage or a parser might mistake for plain ones. */
const DISGUISED = [
  "KEY-00000000000000be",
  "Key-00000000000000be",
  "%6bey-00000000000000be",
  "key%2D00000000000000be",
  "key-00000000000000be.",
  "./key-00000000000000be",
  "x/../key-00000000000000be",
  "/key-00000000000000be",
  "key-00000000000000be/",
  "key-00000000000000be\\",
  "key-00000000000000be/key-0123456789abcdef",
  "key-0123456789abcdef/key-00000000000000be",
  "key-0123456789abcdef/../key-00000000000000be",
];

test("reads no spelling of another caller's space with the credentials of the container", () => {
  const container = "https://a.example/c";
  for (const space of ["", "key-0123456789abcdef"]) {
    const policy = {
      ...policyOf({ allowed: [container], privateOrigins: [], blobUrl: container }),
      own: { space, named: [] },
    };
    for (const disguise of DISGUISED) {
      for (const host of [
        container,
        "https://A.example/c",
        "https://a.example/C",
        "https://a.example:443/c",
      ]) {
        const url = `${host}/${disguise}/${BLOB}`;
        let kind = "refused";
        try {
          kind = checkLocation(url, policy, "input").kind;
        } catch (error) {
          assert.ok(error instanceof MucastError && error.code === "url_not_allowed", url);
        }
        // Unchanged and without credentials, as for any reader.
        assert.ok(kind === "refused" || kind === "remote", url);
      }
    }
  }
});

test("a caller's job reads the container's blobs of its own space, and others only if its order names them", () => {
  const container = "https://a.example/c";
  const [own, other] = ["key-0123456789abcdef", "key-00000000000000be"];
  const root = `${container}/${BLOB}`;
  const policy = {
    ...policyOf({ allowed: [container, "https://b.example/c"], privateOrigins: [], blobUrl: container }),
    own: { space: own, named: [root] },
  };
  assert.equal(checkLocation(`${container}/${own}/${BLOB}`, policy, "input").kind, "container");
  assert.equal(checkLocation(root, policy, "input").kind, "container");
  assert.equal(checkLocation(`https://b.example/c/${BLOB}`, policy, "input").kind, "remote");
  for (const url of [`${container}/${other}/${BLOB}`, `${container}/data/feature_engine_2.json`]) {
    for (const query of ["", "?sv=1&sig=s3cret"]) {
      const { message } = refusal(`${url}${query}`, policy);
      assert.match(message, /is not a blob of this caller$/);
      assert.doesNotMatch(message, /s3cret/);
    }
  }
});

test("BLOB_URL may be a bucket or a folder in one, and allows its own blobs", () => {
  for (const url of ["s3://models", "s3://models/team-1/run.2", "s3://my.bucket.example/a"]) {
    const policy = blobPolicy({ BLOB_URL: url });
    assert.deepEqual([policy.allowed, policy.container], [[url], url]);
    const name = `${url}/${BLOB}`;
    assert.deepEqual(checkLocation(name, policy, "input"), {
      kind: "container",
      key: BLOB,
      container: url,
      name,
    });
    const space = `${url}/key-0123456789abcdef`;
    assert.equal(withSpace(url, "key-0123456789abcdef"), space);
    assert.equal(checkLocation(`${space}/${BLOB}`, policy, "input").kind, "container");
    refusal(`${url}/other/${BLOB}`, policy);
  }
  assert.deepEqual(s3PlaceOf("s3://models/a/b"), { bucket: "models", folder: "a/b" });
  assert.deepEqual(s3PlaceOf("s3://models"), { bucket: "models", folder: "" });
  assert.ok(isUrl("s3:models") && isRemoteUrl("s3://models"));
});

test("refuses buckets and folders in any other spelling", () => {
  for (const url of [
    "s3:",
    "s3://",
    "s3:models",
    "s3:/models",
    "S3://models",
    "s3://Models",
    "s3://mo",
    "s3://-models",
    "s3://models.",
    "s3://mo..dels",
    "s3://models:443",
    "s3://key@models",
    "s3://key:SECRET@models",
    "s3://models//team",
    "s3://models/../team",
    "s3://models/./team",
    "s3://models/%2e%2e/team",
    "s3://models/te am",
    "s3://models/team?versionId=1",
    "s3://models\\team",
  ]) {
    assert.throws(
      () => blobPolicy({ MUCAST_ALLOWED_BLOB_URLS: url.replace(" ", "\u00a0") }),
      (error) =>
        error instanceof MucastError && error.code === "invalid_request" && !/SECRET/.test(error.message),
      url,
    );
    refusal(`${url}/${BLOB}`, { allowed: [url], container: url });
  }
});

test("allows other buckets only if they are listed, and never a query", () => {
  const policy = policyOf({
    allowed: ["s3://models/team", "s3://elsewhere/x"],
    privateOrigins: [],
    blobUrl: "s3://models/team",
  });
  assert.equal(checkLocation(`s3://elsewhere/x/deep/${BLOB}`, policy, "input").kind, "container");
  for (const url of [
    `s3://elsewhere/${BLOB}`,
    `s3://elsewhere/x2/${BLOB}`,
    `s3://models/${BLOB}`,
    `s3://models/team2/${BLOB}`,
    `s3://elsewhere/x/${BLOB}#y`,
    `s3://elsewhere/x/data/ml_engine_1.json`,
  ]) {
    refusal(url, policy);
  }
  assert.match(refusal(`s3://elsewhere/x/${BLOB}?X-Amz-Signature=s`, policy).message, /has a query string/);
});

test("a caller's job reads no other caller's space, even if the whole bucket is listed", () => {
  const [own, other] = ["key-0123456789abcdef", "key-00000000000000be"];
  const policy = {
    ...policyOf({ allowed: ["s3://models"], privateOrigins: [], blobUrl: "s3://models/team" }),
    own: { space: own, named: [] },
  };
  assert.equal(checkLocation(`s3://models/team/${own}/${BLOB}`, policy, "input").kind, "container");
  assert.equal(checkLocation(`s3://models/shared/${BLOB}`, policy, "input").kind, "container");
  for (const path of [other, `${other}/${own}`, ""]) {
    refusal(`s3://models/team/${path === "" ? "" : `${path}/`}${BLOB}`, policy);
  }
});
