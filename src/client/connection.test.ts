import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastClient } from "./client.ts";

test("a key goes to another machine only over https", () => {
  for (const baseUrl of [
    "http://forecasts.example.com",
    "http://10.0.0.5:8080",
    "http://localhost.example.com",
    "http://127.0.0.1.example.com",
    "http://[2001:db8::1]",
    "ftp://localhost",
  ]) {
    assert.throws(
      () => new MucastClient({ baseUrl, apiKey: "SECRET" }),
      (error) => error instanceof TypeError && /https/.test(error.message) && !/SECRET/.test(error.message),
      baseUrl,
    );
    assert.ok(new MucastClient({ baseUrl }), "without a key");
  }
  for (const baseUrl of [
    "https://forecasts.example.com",
    "http://127.0.0.1:8080",
    "http://127.1:8080",
    "http://LOCALHOST:8080/path",
    "http://[::1]:8080",
  ]) {
    assert.ok(new MucastClient({ baseUrl, apiKey: "k" }), baseUrl);
  }
});

test("a page may send its key to the service that it comes from", (t) => {
  const baseUrl = "http://forecasts.internal:8080";
  Object.defineProperty(globalThis, "location", { value: { origin: baseUrl }, configurable: true });
  t.after(() => Reflect.deleteProperty(globalThis, "location"));
  assert.ok(new MucastClient({ baseUrl: `${baseUrl}/`, apiKey: "k" }));
  assert.throws(() => new MucastClient({ baseUrl: "http://other.internal:8080", apiKey: "k" }), TypeError);
});
