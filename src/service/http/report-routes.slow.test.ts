import assert from "node:assert/strict";
import { after, test } from "node:test";
import { reportLinkSchema } from "../../contract/api/operation-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { DrawPage } from "../report/reports.ts";
import { ask, codeOf, eventually, listen } from "./listening.testing.ts";

/** Drawings in progress, which a test ends. */
const drawings: {
  readonly end: PromiseWithResolvers<Buffer>;
  readonly signal: AbortSignal;
  /** Of the outputs. */
  readonly names: readonly string[];
}[] = [];
const draw: DrawPage = (outputs, signal) => {
  const end = Promise.withResolvers<Buffer>();
  signal.addEventListener("abort", () => end.reject(new MucastError("canceled", "given up")));
  drawings.push({ end, signal, names: outputs.map(({ name }) => name) });
  return end.promise;
};

const service = await listen({}, { draw });
after(() => service.close());

/** The path of the report of an operation. */
async function submitted({ isEnded = true, hasOutput = true } = {}): Promise<string> {
  const id = await service.submit();
  if (isEnded) await service.finish(id);
  if (hasOutput) await service.store.put(`data/ml_engine_${id}.json`, Buffer.from("{}"));
  return `/v1/operations/${id}/report`;
}

const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  ask(service.port, { method, path, headers });

async function begun(count: number) {
  await eventually(() => drawings.length >= count);
  return drawings[count - 1]!;
}

const PAGE = Buffer.from("<!doctype html>µ");

test("a report is a page without access to this service, which a browser revalidates by its ETag", async () => {
  const path = await submitted();
  const count = drawings.length;
  const head = await get(path, {}, "HEAD");
  assert.deepEqual([head.status, head.text, drawings.length], [200, "", count], "HEAD draws nothing");
  const pending = get(path);
  (await begun(count + 1)).end.resolve(PAGE);
  for (const { text, headers } of [await pending, await get(path)]) {
    assert.equal(text, String(PAGE));
    assert.equal(headers["content-type"], "text/html; charset=utf-8");
    const policy = String(headers["content-security-policy"]);
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; /);
    assert.match(policy, /; sandbox allow-scripts; frame-ancestors 'none'$/);
    assert.equal(headers["cache-control"], "private, no-cache");
    assert.equal(headers.etag, head.headers.etag);
  }
  const again = await get(path, { "if-none-match": head.headers.etag! });
  assert.deepEqual([again.status, again.text], [304, ""]);
  // A browser applies the headers of a 304 to its cached page.
  for (const header of ["content-security-policy", "cache-control", "etag"])
    assert.equal(again.headers[header], head.headers[header], header);
  assert.equal(drawings.length, count + 1, "drawn once");
});

/** The path of a link to a report. */
async function linked(path: string): Promise<string> {
  const { url, expires_at } = reportLinkSchema.parse(
    JSON.parse((await get(`${path}-link`, {}, "POST")).text),
  );
  assert.match(url, new RegExp(`^${service.origin}/reports/[\\w-]{43}$`));
  assert.ok(Date.parse(expires_at) > Date.now());
  return url.slice(service.origin.length);
}

test("a link opens a report once: HEAD and a browser's prefetch do not use it up, and no log line contains it", async () => {
  const path = await linked(await submitted());
  const count = drawings.length;
  const head = await get(path, {}, "HEAD");
  assert.deepEqual([head.status, head.headers["cache-control"]], [200, "no-store"]);
  for (const header of ["sec-purpose", "purpose", "x-purpose", "x-moz"])
    assert.equal((await get(path, { [header]: "prefetch;prerender" })).status, 503);
  assert.equal(drawings.length, count);
  const pending = [get(path), get(path)];
  for (const { end } of [await begun(count + 1), await begun(count + 2)]) end.resolve(PAGE);
  const [first, second] = (await Promise.all(pending)).sort((a, b) => a.status - b.status);
  assert.deepEqual([first!.status, second!.status, first!.text], [200, 404, String(PAGE)]);
  const { headers } = first!;
  assert.match(String(headers["content-security-policy"]), /sandbox allow-scripts; frame-ancestors 'none'$/);
  assert.deepEqual([headers["cache-control"], headers.etag], ["no-store", undefined]);
  assert.equal(headers["referrer-policy"], "no-referrer");
  assert.equal((await get(path, {}, "HEAD")).status, 404);
  const token = path.split("/").at(-1)!;
  for (const misspelt of [
    ...[`${path}/`, `/${path}`, `/below/a/proxy${path}`, `/reports%2F${token}`, `${path}?x=1`],
    path.replace("reports", "Reports"),
  ])
    assert.ok((await get(misspelt)).status >= 400, misspelt);
  await eventually(() => service.logged.some((line) => line.includes('"route":"/reports/:token"')));
  assert.ok(!service.logged.some((line) => line.includes(token)));
  assert.ok(!JSON.stringify(service.done).includes(token));
});

test("a link compares several operations in their order, and is refused for one without a report", async () => {
  const paths = [await submitted(), await submitted(), await submitted()];
  const ids = paths.map((path) => path.split("/")[3]!);
  const create = async (query: string) => {
    const { status, text } = await get(`/v1/report-link?${query}`, {}, "POST");
    return { status, ...JSON.parse(text) };
  };
  const of = (...wanted: readonly string[]) => wanted.map((id) => `id=${id}`).join("&");
  const { url } = await create(of(ids[2]!, ids[0]!));
  const count = drawings.length;
  const pending = get(url.slice(service.origin.length));
  const { end, names } = await begun(count + 1);
  assert.deepEqual(names, [`ml_engine_${ids[2]}.json`, `ml_engine_${ids[0]}.json`]);
  end.resolve(PAGE);
  assert.equal((await pending).status, 200);
  assert.equal((await create(of(ids[1]!))).status, 200, "one is enough");

  for (const [query, status, code] of [
    ["", 400, "invalid_request"],
    [of(ids[0]!, ids[0]!), 400, "invalid_request"],
    [of(ids[0]!, "none"), 404, "not_found"],
  ] as const) {
    const refusal = await create(query);
    assert.deepEqual([refusal.status, refusal.code], [status, code], query);
  }
});

test("an operation that is unknown, has not succeeded or has lost its output has neither report nor link", async () => {
  for (const [path, ...problem] of [
    ["/v1/operations/none/report", 404, "not_found"],
    [await submitted({ isEnded: false }), 409, "no_result"],
    [await submitted({ hasOutput: false }), 404, "not_found"],
  ] as const) {
    assert.deepEqual(codeOf(await get(path)), problem);
    assert.deepEqual(codeOf(await get(`${path}-link`, {}, "POST")), problem);
  }
  const report = await submitted();
  const path = await linked(report);
  await service.store.remove(`data/ml_engine_${report.split("/")[3]}.json`);
  for (const gone of [path, "/reports/never-made"])
    assert.deepEqual(codeOf(await get(gone)), [404, "not_found"]);
});
