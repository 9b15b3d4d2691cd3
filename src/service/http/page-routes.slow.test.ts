import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ask, listen } from "./listening.testing.ts";
import { CONSOLE_FORMS, readConsoleFiles } from "./page-routes.ts";

const service = await listen();
after(() => service.close());

const OWN_FILES =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

test("the policy of a page allows the service's own scripts, styles and requests, and of the console no HTML made of text", async () => {
  for (const [path, policy, script] of [
    ["/", "img-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'", 'type="module"'],
    ["/docs", "img-src 'self' data:", "defer"],
  ] as const) {
    const { headers, text } = await ask(service.port, { path, headers: { accept: "text/html,*/*;q=0.8" } });
    assert.equal(headers["content-security-policy"], `${OWN_FILES}; ${policy}`);
    assert.doesNotMatch(text, new RegExp(`<style|<iframe| on\\w+=| style=|<script(?! ${script} src="web/)`));
  }
});

test("every file that the page names exists under an immutable name, and a second request is short", async () => {
  const { text, headers } = await ask(service.port, { path: "/" });
  assert.equal(headers["cache-control"], "no-cache");
  const named = [...text.matchAll(/(?:src|href)="(web\/[^"]+)"/g)].map(([, path]) => `/${path}`);
  const { files, version } = readConsoleFiles();
  assert.deepEqual(named.length, files.size - 1);
  named.push(`/web/${version}/${CONSOLE_FORMS}`);
  for (const path of named) {
    const file = await ask(service.port, { path });
    assert.equal(file.status, 200, path);
    assert.equal(file.headers["cache-control"], "public, max-age=31536000, immutable");
    const again = await ask(service.port, { path, headers: { "if-none-match": file.headers.etag } });
    assert.deepEqual([again.status, again.text], [304, ""], path);
  }
  const page = await ask(service.port, { path: "/", headers: { "if-none-match": headers.etag } });
  assert.equal(page.status, 304);
});

test("a program that requests JSON is redirected to the documentation, whose files are each named by a hash", async () => {
  const answer = await ask(service.port, { path: "/", headers: { accept: "application/json" } });
  assert.deepEqual([answer.status, answer.headers.location, answer.headers.vary], [302, "docs", "Accept"]);
  const { text } = await ask(service.port, { path: "/docs" });
  const named = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!);
  assert.equal(named.filter((path) => path.startsWith("web/")).length, 4);
  for (const path of named) {
    assert.match(path, /^(?:web\/[0-9a-f]{16}\/[\w.-]+|openapi\.json)$/);
    assert.equal((await ask(service.port, { path: `/${path}` })).status, 200, path);
  }
});

test("a file of another version, a missing file and a path outside the folder are not found", async () => {
  const [, version] = /web\/(\w+)\//.exec((await ask(service.port, { path: "/" })).text)!;
  for (const path of [
    "/web/0123456789abcdef/console/main.js",
    `/web/${version}/console/main.ts`,
    `/web/${version}/../../package.json`,
    `/web/${version}/%2e%2e/%2e%2e/package.json`,
    `/web/${version}/__proto__`,
    `/web/${version}/`,
  ]) {
    assert.equal((await ask(service.port, { path })).status, 404, path);
  }
});

test("the modules of the console import only each other, run in a browser, and lose their types without a warning", (t) => {
  const said: unknown[] = [];
  t.mock.method(process, "emitWarning", (warning: unknown) => void said.push(warning));
  const { files, version } = readConsoleFiles();
  assert.deepEqual(said, []);
  assert.match(version, /^[0-9a-f]{16}$/);
  for (const [path, { body }] of files) {
    // Preact can set innerHTML if it is asked to; the policy of the page then refuses.
    if (!path.endsWith(".js") || path.startsWith("packages/")) continue;
    const text = body.toString();
    assert.doesNotMatch(text, /\bfrom "(?!\.)|\bfrom "[^"]*\.ts"|\bimport\(/, path);
    assert.doesNotMatch(
      text,
      /dangerouslySet|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
      path,
    );
    assert.doesNotMatch(text, /\b(?:process|Buffer|require)\b[.(]/, path);
  }
});
