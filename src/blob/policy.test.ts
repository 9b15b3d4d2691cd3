import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MucastError } from "../contract/errors/errors.ts";
import { checkLocation } from "./location.ts";
import {
  type BlobPolicy,
  blobPolicy,
  credentialsFor,
  policyOf,
  redactUrl,
  withoutSignature,
} from "./policy.ts";

const POLICY = { allowed: ["https://acct.blob.example.net/models"] };
const GOOD = "https://acct.blob.example.net/models/data/feature_engine_1.json";

/** The requested URL. */
function checkedUrl(text: string, policy: BlobPolicy = POLICY): URL {
  const found = checkLocation(text, policy, "input");
  assert.ok(found.kind === "remote");
  return found.url;
}

function refusal(text: string, policy: BlobPolicy = POLICY): MucastError {
  try {
    checkLocation(text, policy, "input");
  } catch (error) {
    assert.ok(error instanceof MucastError, String(error));
    assert.equal(error.code, "url_not_allowed");
    return error;
  }
  return assert.fail(`${text} was allowed`);
}

test("allows both input blobs of an allowed container, even in a folder below it and with a SAS", () => {
  for (const url of [
    GOOD,
    `${GOOD}?sv=2024&sig=a%2Fb%3D`,
    "https://acct.blob.example.net/models/data/data_extractor_a-b_C9.json",
    "https://acct.blob.example.net/models/team-1/run.2/data/feature_engine_1.json",
  ]) {
    assert.equal(checkedUrl(url).href, url);
  }
});

test("refuses each trick that makes the checked URL differ from the requested one", () => {
  const host = "https://acct.blob.example.net";
  const blob = "data/feature_engine_1.json";
  for (const url of [
    `http://acct.blob.example.net/models/${blob}`,
    `ftp://acct.blob.example.net/models/${blob}`,
    `HTTPS://acct.blob.example.net/models/${blob}`,
    `https:acct.blob.example.net/models/${blob}`,
    `https:/acct.blob.example.net/models/${blob}`,
    `https:\\\\acct.blob.example.net\\models\\${blob}`,
    `https:///acct.blob.example.net/models/${blob}`,
    `https://ACCT.blob.example.net/models/${blob}`,
    `https://acct.blob.example.net./models/${blob}`,
    `https://acct.blob.example.net:443/models/${blob}`,
    `https://acct.blob.example.net:8443/models/${blob}`,
    `https://acct.blob.example.net:/models/${blob}`,
    `https://acct.blob.example.net@evil.example/models/${blob}`,
    `https://user@acct.blob.example.net/models/${blob}`,
    `https://user:pw@acct.blob.example.net/models/${blob}`,
    `https://@acct.blob.example.net/models/${blob}`,
    `https://acct.blob.example.net.evil.example/models/${blob}`,
    `https://evil.example/models/${blob}`,
    `https://acct.blob.еxample.net/models/${blob}`,
    `https://acct%2eblob.example.net/models/${blob}`,
    `https://acct。blob.example.net/models/${blob}`,
    `${host}/models2/${blob}`,
    `${host}/Models/${blob}`,
    `${host}/${blob}`,
    `${host}//models/${blob}`,
    `${host}/models//${blob}`,
    `${host}/models/../other/${blob}`,
    `${host}/other/../models/${blob}`,
    `${host}/models/./${blob}`,
    `${host}/models/%2e%2e/other/${blob}`,
    `${host}/models/%2E%2E%2Fother/${blob}`,
    `${host}/models/..%2fother/${blob}`,
    `${host}/models/..\\other/${blob}`,
    `${host}/models\\${blob}`,
    `${host}/models/%5c..%5cother/${blob}`,
    `${host}/models;x/${blob}`,
    `${host}/models/.hidden/${blob}`,
    `${host}/models/data/feature_engine_1.json#x`,
    `${host}/models/data/feature_engine_1.json#`,
    `${host}/models/data/feature_engine_1.json/`,
    `${host}/models/data/feature_engine_1.json%00`,
    `${host}/models/data/feature_engine_%31.json`,
    `${host}/models/data/feature_engine_1.json\n`,
    `${host}/models/da\tta/feature_engine_1.json`,
    ` ${GOOD}`,
    `${GOOD} `,
    `${GOOD}?a b`,
    `${host}/models/data/feature_engine_.json`,
    `${host}/models/data/feature_engine_${"1".repeat(65)}.json`,
    `${host}/models/data/feature_engine_1.JSON`,
    `${host}/models/data/ml_engine_1.json`,
    `${host}/models/feature_engine_1.json`,
    `${host}/models?/data/feature_engine_1.json`,
    "https://",
    "https://[::1/models/data/feature_engine_1.json",
  ]) {
    refusal(url);
  }
});

test("refuses an unusual spelling of an allowed address", () => {
  const privateOrigins = ["https://127.0.0.1:8443", "https://[::1]:8443"];
  const policy = { allowed: privateOrigins.map((origin) => `${origin}/c`), privateOrigins };
  const blob = "c/data/feature_engine_1.json";
  checkedUrl(`https://127.0.0.1:8443/${blob}`, policy);
  checkedUrl(`https://[::1]:8443/${blob}`, policy);
  for (const host of [
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "127.0.0.1.",
    "[::0:1]",
    "[::ffff:127.0.0.1]",
  ]) {
    refusal(`https://${host}:8443/${blob}`, policy);
  }
});

test("requests every allowed URL as it is spelt, and under an allowed prefix", () => {
  const piece = fc.constantFrom(
    ...[
      "https://",
      "acct.blob.example.net",
      "/models",
      "/data/",
      "feature_engine_1.json",
      "..",
      "/",
      "\\",
      "%2f",
    ],
    ...["%2e", "@", ":443", ":", "?", "#", "x", ".", "//", "\t", "A", "data_extractor_", "[::1]", ";"],
  );
  const mutated = fc
    .tuple(fc.nat(GOOD.length), fc.nat(3), fc.array(piece, { maxLength: 3 }))
    .map(([at, cut, pieces]) => GOOD.slice(0, at) + pieces.join("") + GOOD.slice(at + cut));
  const built = fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join(""));
  let allowed = 0;
  fc.assert(
    fc.property(fc.oneof(mutated, built), (text) => {
      let url: URL;
      try {
        url = checkedUrl(text);
      } catch (error) {
        return error instanceof MucastError && error.code === "url_not_allowed";
      }
      allowed += 1;
      const asked = `https://${url.host}${url.pathname}`;
      const under = asked.startsWith("https://acct.blob.example.net/models/");
      const climbs = /%|\\/.test(asked) || asked.split("/").includes("..");
      return under && asked === text.split("?")[0] && url.username === "" && !climbs;
    }),
    { numRuns: 3000 },
  );
  assert.ok(allowed > 0, "no mutation was harmless, so the property saw nothing");
});

test("takes the policy from MUCAST_ALLOWED_BLOB_URLS, else from an https BLOB_URL without its SAS", () => {
  const listed = " https://a.example/c ,https://b.example:8443/c/team/\n";
  assert.deepEqual(
    blobPolicy({ MUCAST_ALLOWED_BLOB_URLS: listed, BLOB_URL: "https://z.example/c" }).allowed,
    ["https://a.example/c", "https://b.example:8443/c/team"],
  );
  assert.deepEqual(
    blobPolicy({ MUCAST_ALLOWED_BLOB_URLS: " ", BLOB_URL: "https://z.example/c/?sig=S" }).allowed,
    ["https://z.example/c"],
  );
  assert.deepEqual(blobPolicy({ BLOB_URL: "/srv/blobs" }).allowed, []);
  assert.deepEqual(blobPolicy({}).allowed, []);
});

test("refuses a policy that would open a whole host, or is not a plain https URL", () => {
  for (const entry of [
    "https://a.example",
    "https://a.example/",
    "http://a.example/c",
    "https://a.example./c",
    "*",
  ]) {
    assert.throws(
      () => blobPolicy({ MUCAST_ALLOWED_BLOB_URLS: entry }),
      (error) => error instanceof MucastError && error.code === "invalid_request",
      entry,
    );
  }
  for (const entry of [
    "https://a.example/c?sig=SECRET",
    "https://me:SECRET@a.example/c",
    "https://A.example/c",
  ]) {
    assert.throws(
      () => blobPolicy({ MUCAST_ALLOWED_BLOB_URLS: entry }),
      (error) =>
        error instanceof MucastError && !JSON.stringify([error.message, error.data]).includes("SECRET"),
      entry,
    );
  }
});

test("a refusal shows neither query nor password", () => {
  for (const url of [
    `${GOOD}x?sig=SECRET`,
    "https://me:SECRET@a.example/c",
    "https://a b?SECRET",
    `${GOOD}#SECRET`,
    "https://me:SEC/SECRET@a.example/c",
    "https:\\\\me:SECRET@a.example/c",
    "https:me:SECRET@a.example/c",
    `${GOOD};sig=SECRET`,
    `${GOOD}&sig=SECRET`,
    `${GOOD}%3Fsig=SECRET`,
    `"${GOOD}?sig=SECRET"`,
    ` ${GOOD}?sig=SECRET`,
  ]) {
    const error = refusal(url);
    assert.doesNotMatch(JSON.stringify([error.message, error.data, String(error.cause)]), /SECRET/);
  }
  assert.equal(redactUrl("https://me:pw@a.example/c?sig=S#f"), "https://a.example/c");
});

test("redacts a URL as one pattern does, in linear time", () => {
  const bySlowPattern = (text: string) =>
    text.split(/[?#&;]|%3f/i)[0]!.replace(/(:[/\\]*|[/\\]{2}).*@/s, "$1");
  const mark = fc.constantFrom(..."/\\:@?#&a\n", "https://", "%3F");
  fc.assert(
    fc.property(fc.array(mark, { maxLength: 30 }), (marks) => {
      const text = marks.join("");
      assert.equal(redactUrl(text), bySlowPattern(text));
    }),
  );
  // With that pattern, each of these takes an hour.
  for (const mark of [":", "/", "\\", ":@:"]) {
    const long = mark.repeat(2 ** 20);
    assert.ok(redactUrl(long).length <= long.length);
    assert.match(refusal(`https://acct.blob.example.net/${long}`).message, /has an unusual part in its path/);
  }
});

test("the policy of an environment contains the limits of a blob, and refuses a limit out of bounds", () => {
  assert.deepEqual(blobPolicy({}).limits, { tickers: 100_000, nameBytes: 2 ** 26 });
  const limits = { MUCAST_BLOB_TICKERS: " 20 ", MUCAST_BLOB_NAME_BYTES: "4096" };
  assert.deepEqual(blobPolicy(limits).limits, { tickers: 20, nameBytes: 4_096 });
  for (const text of ["0", "-1", "1e3", "1000001", "many", "9".repeat(40)]) {
    assert.throws(
      () => blobPolicy({ MUCAST_BLOB_TICKERS: text }),
      (error) =>
        error instanceof MucastError && /must be an integer from 1 to 1000000, got/.test(error.message),
    );
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
