import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { EVENT_TYPES } from "../../contract/api/stored-event.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { WebhookTarget } from "../../contract/settings.ts";
import { checkTargets, MAX_ATTEMPTS, retryDelay } from "./deliverer.ts";

const named = (name: string, url: string): WebhookTarget => ({
  name,
  url,
  secret: "whsec_x",
  types: ["failed"],
});

const refusal = (path: string, message: RegExp) => (error: unknown) =>
  error instanceof MucastError &&
  error.code === "invalid_request" &&
  error.data.path === path &&
  message.test(error.message);

test("https may go anywhere, http only to this machine", () => {
  for (const url of [
    "https://desk.example/hook",
    "https://10.0.0.7/",
    "http://127.0.0.1:9/",
    "http://localhost/",
    "http://[::1]/",
    "http://0x7f.1/",
  ]) {
    checkTargets([named("a", url)]);
  }
  for (const url of [
    "http://desk.example/hook",
    "http://10.0.0.7/",
    "http://127.0.0.1.example/",
    "http://localhost.example/",
  ]) {
    const targets = [named("a", "https://a.example/"), named("b", url)];
    assert.throws(
      () => checkTargets(targets),
      refusal("webhooks[1].url", /the target b has an http URL; use https/),
    );
  }
});

test("the names of targets are unique", () => {
  const targets = [named("a", "https://a.example/"), named("a", "https://b.example/")];
  assert.throws(() => checkTargets(targets), refusal("webhooks[1].name", /two targets are called a/));
});

test("delays grow from about 5 seconds to about 6 hours, and add up to about a day", () => {
  const middle = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, i) => retryDelay(i + 1, 0.5));
  assert.deepEqual(middle, [5, 15, 45, 135, 405, 1_215, 3_645, 10_935, 21_600, 21_600, 21_600]);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: MAX_ATTEMPTS }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (tries, random) => {
        const ratio = retryDelay(tries, random) / retryDelay(tries, 0.5);
        assert.ok(ratio >= 0.8 - 1e-9 && ratio <= 1.2 + 1e-9);
      },
    ),
  );
});

test("docs/webhooks.md and docs/http.md name every type of event", () => {
  for (const page of ["webhooks", "http"]) {
    const text = readFileSync(new URL(`../../../docs/${page}.md`, import.meta.url), "utf8");
    for (const type of EVENT_TYPES)
      assert.ok(text.includes(`\`${type}\``), `docs/${page}.md does not name the event ${type}`);
  }
});
