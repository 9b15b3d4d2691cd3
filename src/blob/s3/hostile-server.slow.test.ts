import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { inspect } from "node:util";
import { openStore } from "../open-store.ts";
import { policyOf } from "../policy.ts";
import type { JobStore } from "../store.ts";
import { bytesOf, failure } from "../store-promises.testing.ts";

const SECRET = "wJalrXUtnFEMI-SECRET";

let server: Server;
let store: JobStore;
let answer: (response: ServerResponse) => void;
let requests = 0;

before(async () => {
  server = createServer((request, response) => {
    requests++;
    request.resume();
    answer(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = { AWS_ENDPOINT_URL: origin, AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: SECRET };
  const policy = policyOf({ allowed: [], privateOrigins: [origin], blobUrl: "s3://models" });
  store = await openStore("s3://models", { policy, env, limits: { attempts: 2, backoffMs: 1 } });
});
after(async () => {
  await store.close();
  server.closeAllConnections();
  server.close();
});

/** XML whose entities would expand to 20^9 letters. */
const BOMB = [
  '<!DOCTYPE l [<!ENTITY a "aaaaaaaaaaaaaaaa">',
  ...Array.from("bcdefghij", (name, i) => `<!ENTITY ${name} "${`&${"abcdefghi"[i]};`.repeat(20)}">`),
  `]><Error><Code>&j;</Code><Message>${SECRET} &j;</Message></Error>`,
].join("");

const REDIRECT = { location: "http://169.254.169.254/latest?X-Amz-Signature=abc" };

const faulty = (status: number, body = "", headers: Record<string, string> = {}) => {
  answer = (response) => response.writeHead(status, headers).end(body);
};

test("a blob without a size or an entity tag is an error, and so are ranges that are not those requested", async () => {
  for (const headers of [{ "content-length": "10" }, { etag: '"a"' }]) {
    faulty(200, "", headers as Record<string, string>);
    const { message } = await failure("blob_unavailable", store.stat("data/x.json"));
    assert.match(message, /without the size or the entity tag/);
  }
  for (const range of ["bytes 5-14/100", "bytes 0-9/-5", "bytes 0-9/99999999999999999999"]) {
    faulty(206, "0123456789", { "content-range": range, etag: '"a"' });
    await failure("blob_unavailable", bytesOf(store.read("data/x.json")));
  }
});

test("an answer's entities are not expanded, and no error repeats its text", async () => {
  for (const [status, body] of [
    [403, BOMB],
    [400, "<a>".repeat(100_000)],
  ] as const) {
    faulty(status, body, { "content-type": "application/xml" });
    for (const error of [
      await failure("blob_unavailable", store.stat("data/x.json")),
      await failure("blob_unavailable", bytesOf(store.read("data/x.json"))),
      await failure("output_failed", store.remove("data/x.json")),
    ]) {
      assert.ok(error.message.length < 300);
      assert.doesNotMatch(inspect(error), /SECRET/);
    }
  }
});

test("a redirect is not followed, and its signature is not shown", async () => {
  faulty(307, "", REDIRECT);
  for (const attempt of [
    () => store.stat("data/x.json"),
    () => bytesOf(store.read("data/x.json")),
    () => store.create("data/x.json", "x"),
  ]) {
    const before = requests;
    const error = await failure("url_not_allowed", attempt());
    assert.equal(requests, before + 1);
    assert.doesNotMatch(inspect(error), /X-Amz-Signature|169\.254/);
  }
});
