import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { reportLinkSchema } from "../../contract/api/operation-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { DrawPage } from "../report/reports.ts";
import { EXAMPLE_PAYLOADS } from "./examples.ts";
import { eventually, type Listening, listen } from "./listening.testing.ts";

const CALLER = { subject: "local", scopes: new Set(["read", "write"] as const) };

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

let service: Listening;
before(async () => {
  service = await listen({}, { draw });
});
after(() => service.close());

/** The path of the report of an operation. */
async function submitted({ isEnded = true, hasOutput = true } = {}): Promise<string> {
  const payload = JSON.stringify(EXAMPLE_PAYLOADS.run_ml_job);
  const { id } = (await service.operations.submit(CALLER, { operation: "run_ml_job", payload })).operation;
  if (isEnded) service.operations.start(id);
  if (isEnded) service.operations.end(id);
  if (hasOutput) await service.store.put(`data/ml_engine_${id}.json`, Buffer.from("{}"));
  return `/v1/operations/${id}/report`;
}

const get = (path: string, init?: RequestInit) => fetch(`${service.origin}${path}`, init);

async function refused(path: string): Promise<[number, string]> {
  const answer = await get(path);
  return [answer.status, ((await answer.json()) as { code: string }).code];
}

async function begun(count: number) {
  await eventually(() => drawings.length >= count);
  return drawings[count - 1]!;
}

test("a report is a page without access to this service, which a browser revalidates by its ETag", async () => {
  const path = await submitted();
  const count = drawings.length;
  const head = await get(path, { method: "HEAD" });
  assert.deepEqual([head.status, await head.text(), drawings.length], [200, "", count], "HEAD draws nothing");
  const asked = [get(path), get(path)];
  (await begun(count + 1)).end.resolve(Buffer.from("<!doctype html>µ"));
  for (const answer of await Promise.all(asked)) {
    assert.equal(await answer.text(), "<!doctype html>µ");
    assert.equal(answer.headers.get("content-type"), "text/html; charset=utf-8");
    const policy = answer.headers.get("content-security-policy")!;
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; /);
    assert.match(policy, /; sandbox allow-scripts; frame-ancestors 'none'$/);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    assert.equal(answer.headers.get("referrer-policy"), "no-referrer");
    assert.equal(answer.headers.get("cache-control"), "private, no-cache");
    assert.equal(answer.headers.get("etag"), head.headers.get("etag"));
  }
  const again = await get(path, { headers: { "if-none-match": head.headers.get("etag")! } });
  assert.deepEqual([again.status, await again.text()], [304, ""]);
  // A browser applies the headers of a 304 to its cached page.
  for (const header of ["content-security-policy", "cache-control", "etag"])
    assert.equal(again.headers.get(header), head.headers.get(header), header);
  assert.equal(drawings.length, count + 1, "drawn once");
});

test("a report that cannot be drawn is a problem", async () => {
  const path = await submitted();
  const count = drawings.length;
  const asked = refused(path);
  (await begun(count + 1)).end.reject(new MucastError("process_lost", "it was ended by SIGKILL"));
  assert.deepEqual(await asked, [500, "process_lost"]);
});

test("a caller that leaves ends the drawing", async () => {
  const path = await submitted();
  const count = drawings.length;
  const leaving = new AbortController();
  const asked = get(path, { signal: leaving.signal });
  const { signal } = await begun(count + 1);
  leaving.abort();
  await assert.rejects(asked);
  await eventually(() => signal.aborted);
});

async function linked(path: string): Promise<string> {
  const answer = await get(`${path}-link`, { method: "POST" });
  assert.equal(answer.status, 200);
  const { url, expires_at } = reportLinkSchema.parse(await answer.json());
  assert.match(url, new RegExp(`^${service.origin}/reports/[\\w-]{43}$`));
  assert.ok(Date.parse(expires_at) > Date.now());
  return url.slice(service.origin.length);
}

test("a link opens a report once: HEAD and a browser's prefetch do not use it up, and no log line contains it", async () => {
  const path = await linked(await submitted());
  const count = drawings.length;
  const head = await get(path, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("cache-control")], [200, "no-store"]);
  for (const header of ["sec-purpose", "purpose", "x-purpose", "x-moz"]) {
    const early = await get(path, { headers: { [header]: "prefetch;prerender" } });
    assert.equal(early.status, 503);
  }
  assert.equal(drawings.length, count);
  const asked = [get(path), get(path)];
  (await begun(count + 1)).end.resolve(Buffer.from("<!doctype html>"));
  const [first, second] = (await Promise.all(asked)).sort((a, b) => a.status - b.status);
  assert.deepEqual([first!.status, second!.status], [200, 404]);
  assert.equal(await first!.text(), "<!doctype html>");
  assert.match(
    first!.headers.get("content-security-policy")!,
    /sandbox allow-scripts; frame-ancestors 'none'$/,
  );
  assert.equal(first!.headers.get("cache-control"), "no-store");
  assert.equal(first!.headers.get("referrer-policy"), "no-referrer");
  assert.equal(first!.headers.get("etag"), null);
  const used = await get(path, { method: "HEAD" });
  assert.equal(used.status, 404);
  const token = path.split("/").at(-1)!;
  for (const misspelt of [
    `${path}/`,
    `/${path}`,
    `/below/a/proxy${path}`,
    `/reports%2F${token}`,
    path.replace("reports", "Reports"),
    `${path}?x=1`,
  ]) {
    const answer = await get(misspelt);
    assert.ok(answer.status >= 400, misspelt);
    await answer.body?.cancel();
  }
  await eventually(() => service.logged.some((line) => line.includes('"route":"/reports/:token"')));
  assert.deepEqual(
    service.logged.filter((line) => line.includes(token)),
    [],
  );
  assert.ok(!JSON.stringify(service.done).includes(token));
});

test("a link compares several operations in their order, and is refused for one without a report", async () => {
  const paths = [await submitted(), await submitted(), await submitted()];
  const ids = paths.map((path) => path.split("/")[3]!);
  const create = async (query: string) => {
    const answer = await get(`/v1/report-link?${query}`, { method: "POST" });
    const body = (await answer.json()) as { url: string; code: string; detail: string };
    return { status: answer.status, ...body };
  };
  const of = (...wanted: readonly string[]) => wanted.map((id) => `id=${id}`).join("&");
  const { url } = await create(of(ids[2]!, ids[0]!));
  const count = drawings.length;
  const asked = get(url.slice(service.origin.length));
  const { end, names } = await begun(count + 1);
  assert.deepEqual(names, [`ml_engine_${ids[2]}.json`, `ml_engine_${ids[0]}.json`]);
  end.resolve(Buffer.from("<!doctype html>"));
  assert.equal((await asked).status, 200);
  assert.equal((await create(of(ids[1]!))).status, 200, "one is enough");

  const running = (await submitted({ isEnded: false })).split("/")[3]!;
  const nine = Array.from({ length: 9 }, (_, i) => `x${i}`);
  for (const [query, status, code, detail] of [
    ["", 400, "invalid_request", /id: is required/],
    [of(ids[0]!, ids[0]!), 400, "invalid_request", /id\[1\]: must not appear twice/],
    [of(...nine), 400, "invalid_request", /id: must be a list of length <= 8/],
    [of("a/b"), 400, "invalid_request", /id\[0\]/],
    [`${of(ids[0]!)}&ids=x`, 400, "invalid_request", /unknown key "ids"/],
    [of(ids[0]!, "none"), 404, "not_found", /"none"/],
    [of(ids[0]!, running), 409, "no_result", new RegExp(running)],
  ] as const) {
    const refusal = await create(query);
    assert.deepEqual([refusal.status, refusal.code], [status, code], query);
    assert.match(refusal.detail, detail);
  }
});

test("a link whose report cannot be drawn for the moment stays valid", async () => {
  const path = await linked(await submitted());
  const count = drawings.length;
  const asked = refused(path);
  (await begun(count + 1)).end.reject(new MucastError("unavailable", "others draw", { retryAfter: 1 }));
  assert.deepEqual(await asked, [503, "unavailable"]);
  const again = get(path);
  (await begun(count + 2)).end.resolve(Buffer.from("<!doctype html>"));
  assert.equal((await again).status, 200);
  assert.equal((await get(path)).status, 404);
});

test("a link is created only for an existing report, and opens nothing if the output is removed later", async () => {
  const refusedLink = async (path: string) => {
    const answer = await get(`${path}-link`, { method: "POST" });
    return [answer.status, ((await answer.json()) as { code: string }).code];
  };
  assert.deepEqual(await refusedLink("/v1/operations/none/report"), [404, "not_found"]);
  assert.deepEqual(await refusedLink(await submitted({ isEnded: false })), [409, "no_result"]);
  const report = await submitted();
  const path = await linked(report);
  await service.store.remove(`data/ml_engine_${report.split("/")[3]}.json`);
  assert.deepEqual(await refused(path), [404, "not_found"]);
  assert.deepEqual(await refused("/reports/never-made"), [404, "not_found"]);
});

test("an operation that is unknown, has not succeeded or has lost its output has no report", async () => {
  assert.deepEqual(await refused("/v1/operations/none/report"), [404, "not_found"]);
  assert.deepEqual(await refused(await submitted({ isEnded: false })), [409, "no_result"]);
  assert.deepEqual(await refused(await submitted({ hasOutput: false })), [404, "not_found"]);
});
