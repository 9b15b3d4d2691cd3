import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { checkLocation, isRemoteUrl, isUrl } from "../location.ts";
import { withSpace } from "../names.ts";
import {
  type BlobPolicy,
  blobPolicy,
  credentialsFor,
  policyOf,
  s3PlaceOf,
  withoutSignature,
} from "../policy.ts";

const BLOB = "data/feature_engine_1.json";

function refusal(text: string, policy: BlobPolicy): MucastError {
  try {
    checkLocation(text, policy, "input");
  } catch (error) {
    assert.ok(error instanceof MucastError, String(error));
    assert.equal(error.code, "url_not_allowed");
    return error;
  }
  return assert.fail(`${text} was allowed`);
}

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

test("a process gets only the credentials of the storages that its policy names", () => {
  const policy = (allowed: string[], blobUrl: string) => policyOf({ allowed, privateOrigins: [], blobUrl });
  assert.deepEqual(credentialsFor(policy([], "/srv/blobs")), { azure: false, s3: false });
  assert.deepEqual(credentialsFor(policy([], "https://a.example/c")), { azure: true, s3: false });
  assert.deepEqual(credentialsFor(policy([], "s3://models")), { azure: false, s3: true });
  assert.deepEqual(credentialsFor(policy(["s3://models"], "https://a.example/c")), { azure: true, s3: true });
});

test("a text shows neither the signature nor the token of a presigned URL", () => {
  const url =
    "https://b.s3.amazonaws.com/x?X-Amz-Credential=id&X-Amz-Security-Token=SECRET%2F&X-Amz-Signature=5ec";
  assert.equal(
    withoutSignature(url),
    "https://b.s3.amazonaws.com/x?X-Amz-Credential=id&X-Amz-Security-Token=…&X-Amz-Signature=…",
  );
});
