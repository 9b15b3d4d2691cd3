import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { ask, type Listening, listen, listenFor } from "../listening.testing.ts";
import { html, prose } from "./html.ts";

let service: Listening;
let page: string;
before(async () => {
  service = await listen();
  page = (await ask(service.port, { path: "/docs" })).text;
});
after(() => service.close());

test("the page runs no script, loads nothing, and its policy allows its one style", async () => {
  const { headers } = await ask(service.port, { path: "/docs" });
  const policy = String(headers["content-security-policy"]);
  const styles = [...page.matchAll(/<style>(.*?)<\/style>/gs)].map(([, style]) => style!);
  assert.equal(styles.length, 1);
  const hash = createHash("sha256").update(styles[0]!).digest("base64");
  assert.ok(
    policy.startsWith("default-src 'none';") && policy.includes(`style-src 'sha256-${hash}'`),
    policy,
  );
  assert.doesNotMatch(page, /<script|<link|<img|<iframe| on\w+=| style=|src=/);
});

test("on a narrow screen the cells of a row are below each other, in every table with headings", () => {
  const narrow =
    /@media \(max-width: \d+rem\) \{\s*thead \{\s*display: none;\s*\}(.*?)\n\}/s.exec(page)?.[1] ?? "";
  assert.match(narrow, /thead \+ tbody > tr,\s*thead \+ tbody > tr > td \{\s*display: block;/);
  const tables = [...page.matchAll(/<table>(.*?)<tbody>/gs)].map(([, before]) => before!.trim());
  assert.ok(tables.some((before) => before !== ""));
  for (const before of tables) assert.match(before, /^(?:<thead>.*<\/thead>)?$/s);
});

test("the page has every operation and schema, and every link has a target", async () => {
  const { paths, components } = JSON.parse((await ask(service.port, { path: "/openapi.json" })).text);
  for (const methods of Object.values<Record<string, { operationId: string }>>(paths)) {
    for (const { operationId } of Object.values(methods))
      assert.ok(page.includes(`id="${operationId}"`), operationId);
  }
  for (const name of Object.keys(components.schemas)) assert.ok(page.includes(`id="schema-${name}"`), name);
  for (const [, target] of page.matchAll(/href="#([^"]+)"/g))
    assert.ok(page.includes(`id="${target}"`), target);
  for (const [, id] of page.matchAll(/ id="([^"]+)"/g)) {
    assert.equal(page.split(` id="${id}"`).length, 2, `${id} is not unique`);
  }
});

test("the page lists the limits of this service, each with its value and what it limits", () => {
  const table = /<h2 id="limits">.*?<\/table>/s.exec(page)![0];
  for (const row of [
    "<code>upload_bytes</code></td><td>17179869184 bytes</td><td>Maximum size of an uploaded blob.</td>",
    "<code>job_seconds</code></td><td>43200 s</td>",
    "<code>retention_days</code></td><td>30 days</td>",
    "<code>queued_per_caller</code></td><td>1000</td>",
  ]) {
    assert.ok(table.includes(row), `${row} in ${table}`);
  }
});

test("the curl lines name this service, and with keys they send one", async (t) => {
  assert.ok(
    page.includes(
      `curl -sS ${service.origin}/examples/feature_engine_tiny.json | curl -sS -T - ${service.origin}/data/feature_engine_tiny.json`,
    ),
  );
  assert.ok(!page.includes("MUCAST_API_KEY"));
  const shut = await listenFor(t, { auth: "keys", public_url: "https://forecasts.example" });
  const { text } = await ask(shut.port, { path: "/docs" });
  assert.ok(
    text.includes(
      "-H &quot;Authorization: Bearer $MUCAST_API_KEY&quot; https://forecasts.example/v1/operations",
    ),
  );
});

test("html escapes inserted text", () => {
  assert.equal(html`<p>${`<b>"&'`}</p>`.html, "<p>&lt;b&gt;&quot;&amp;&#39;</p>");
  assert.equal(prose("a `<b>` c").html, "a <code>&lt;b&gt;</code> c");
});
