import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { MucastError } from "../contract/errors/errors.ts";
import { blobPolicy, credentialsFor, policyOf, redactUrl, withoutSignature } from "./policy.ts";

test("takes the policy from MUCAST_ALLOWED_BLOB_URLS, else from an https BLOB_URL without its SAS", () => {
  const listed = " https://a.example/c ,https://b.example:8443/c/team/\n";
  for (const [env, allowed] of [
    [
      { MUCAST_ALLOWED_BLOB_URLS: listed, BLOB_URL: "https://z.example/c" },
      ["https://a.example/c", "https://b.example:8443/c/team"],
    ],
    [{ MUCAST_ALLOWED_BLOB_URLS: " ", BLOB_URL: "https://z.example/c/?sig=S" }, ["https://z.example/c"]],
    [{ BLOB_URL: "/srv/blobs" }, []],
    [{}, []],
  ] as const)
    assert.deepEqual(blobPolicy(env).allowed, allowed);
});

test("refuses an entry that would open a whole host, or is not a plain URL or origin, without its secret", () => {
  const urls = `https://a.example https://a.example/ http://a.example/c https://a.example./c * https://A.example/c
    https://a.example/c?sig=SECRET https://me:SECRET@a.example/c http://127.0.0.1:10000/c`;
  const origins = `http://10.0.0.1 http://a.example https://a.example/c https://a.example:443 https://me:SECRET@a.example a.example`;
  for (const env of [
    ...urls.split(/\s+/).map((url) => ({ MUCAST_ALLOWED_BLOB_URLS: url })),
    ...origins.split(/\s+/).map((origin) => ({ MUCAST_PRIVATE_ORIGINS: origin })),
    {
      MUCAST_ALLOWED_BLOB_URLS: "http://127.0.0.1:10000/c",
      MUCAST_PRIVATE_ORIGINS: "https://127.0.0.1:10000",
    },
    { MUCAST_ALLOWED_BLOB_URLS: "http://10.0.0.1/c", MUCAST_PRIVATE_ORIGINS: "https://10.0.0.1" },
  ])
    assert.throws(
      () => blobPolicy(env),
      ({ code, message, data }: MucastError) =>
        code === "invalid_request" && !JSON.stringify([message, data]).includes("SECRET"),
      JSON.stringify(env),
    );
});

test("redacts a URL as one pattern does, in linear time", () => {
  assert.equal(redactUrl("https://me:pw@a.example/c?sig=S#f"), "https://a.example/c");
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
  for (const mark of [":", "/", "\\", ":@:"])
    assert.ok(redactUrl(mark.repeat(2 ** 20)).length <= 3 * 2 ** 20);
});

test("the policy of an environment contains the limits of a blob, and refuses a limit out of bounds", () => {
  assert.deepEqual(blobPolicy({}).limits, { tickers: 100_000, nameBytes: 2 ** 26 });
  const limits = { MUCAST_BLOB_TICKERS: " 20 ", MUCAST_BLOB_NAME_BYTES: "4096" };
  assert.deepEqual(blobPolicy(limits).limits, { tickers: 20, nameBytes: 4_096 });
  for (const text of ["0", "-1", "1e3", "1000001", "many", "9".repeat(40)])
    assert.throws(() => blobPolicy({ MUCAST_BLOB_TICKERS: text }), {
      message: /must be an integer from 1 to 1000000, got/,
    });
});

test("a process gets only the credentials of the storages that its policy names", () => {
  for (const [allowed, blobUrl, azure, s3] of [
    [[], "/srv/blobs", false, false],
    [[], "https://a.example/c", true, false],
    [[], "s3://models", false, true],
    [["s3://models"], "https://a.example/c", true, true],
  ] as const)
    assert.deepEqual(credentialsFor(policyOf({ allowed, privateOrigins: [], blobUrl })), { azure, s3 });
});

test("a text shows neither the signature nor the token of a presigned URL", () => {
  const url =
    "https://b.s3.amazonaws.com/x?X-Amz-Credential=id&X-Amz-Security-Token=SECRET%2F&X-Amz-Signature=5ec";
  assert.equal(
    withoutSignature(url),
    "https://b.s3.amazonaws.com/x?X-Amz-Credential=id&X-Amz-Security-Token=…&X-Amz-Signature=…",
  );
});
