import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import fc from "fast-check";
import { MucastError } from "../../contract/errors/errors.ts";
import { openLog, openLogDestination, secretHider } from "./log.ts";

/** The line that `fields` and `message` make. */
function lineOf(
  fields: object,
  message = "written",
  secrets: readonly string[] = [],
): Record<string, unknown> {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  openLog({ level: "info", secrets, destination }).info(fields, message);
  assert.equal(lines.length, 1);
  assert.ok(lines[0]!.endsWith("\n"));
  return JSON.parse(lines[0]!);
}

test("a line is JSON with time, level, process, message and fields", () => {
  const { time, hostname: _, ...line } = lineOf({ port: 8080 }, "listening");
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(line, { level: "info", pid: process.pid, port: 8080, msg: "listening" });
});

test("an expected error has its code and no stack; any other its stack and causes, but no other property", () => {
  const expected = new MucastError("not_found", "no operation x", { path: "id", value: "x" });
  const shown = { type: "MucastError", message: "no operation x", code: "not_found", path: "id" };
  assert.deepEqual(lineOf({ err: expected }).err, shown);
  const cause = Object.assign(new Error("refused"), { code: "23505", detail: "Failing row contains (7)" });
  const err = lineOf({ err: new Error("no row", { cause }) }).err as Record<string, Record<string, string>>;
  assert.match(String(err.stack), /^Error: no row\n {4}at /);
  assert.deepEqual([err.cause!.code, err.cause!.detail], ["23505", undefined]);
  assert.deepEqual(lineOf({ err: "thrown" }).err, { type: "string", message: "thrown" });
});

describe("secrets", () => {
  const SECRET = "s3cret-Value/with+signs==";
  const shapes: Record<string, object> = {
    "an authorization header": { headers: { Authorization: `Bearer ${SECRET}` } },
    "a bearer token in a text": { note: `sent Bearer ${SECRET} to it` },
    "the signature of a SAS": { url: `https://a.example/c/data/x.json?sv=1&sig=${SECRET}` },
    "an encoded signature": { note: `sig%3D${SECRET}` },
    "a query of a path": { url: `/v1/operations?cursor=${SECRET}` },
    "a query without a name": { note: `GET https://a.example/x?${SECRET} failed` },
    "a password in a URL": { note: `postgresql://user:${SECRET}@db.example:5432/m` },
    "a connection string": { note: `DefaultEndpointsProtocol=https;AccountKey=${SECRET};EndpointSuffix=x` },
    "a webhook's secret": { note: `whsec_${"c2VjcmV0LVZhbHVl".repeat(2)}` },
    "an API key in a name": {
      path: "/data/feature_engine_mucast_0123456789abcdef_c2VjcmV0LVZhbHVlc2VjcmV0LVZhbHVl.json",
    },
    "an API key": { note: `made mucast_0123456789abcdef_c2VjcmV0LVZhbHVlc2VjcmV0LVZhbHVl_-x for it` },
    "a token of JWT's shape": { note: "eyJhbGciOiJSUzI1NiJ9.c2VjcmV0LVZhbHVl.c2ln" },
  };
  it("are hidden by their names and patterns", () => {
    for (const [name, fields] of Object.entries(shapes)) {
      for (const line of [lineOf(fields), lineOf({ err: new Error(JSON.stringify(fields)) })]) {
        assert.doesNotMatch(JSON.stringify(line), /s3cret|c2VjcmV0LVZhbHVl/, name);
        assert.equal(line.msg, "written");
      }
    }
  });

  it("of the settings are hidden everywhere, even in part", () => {
    const database = "postgresql://mucast:p%40ss%22word%5C1@db.example/m";
    const account = "AccountName=a;AccountKey=QUJDREVGR0g=;EndpointSuffix=x";
    const fields = { a: 'with p@ss"word\\1', b: "p%40ss%22word%5C1", c: ["QUJDREVGR0g="] };
    const line = lineOf(fields, `${database} ${account}`, [database, account]);
    assert.doesNotMatch(JSON.stringify(line), /p@ss|p%40ss|QUJD/);
  });

  it("leave the rest of the line unchanged", () => {
    const note = 'did you mean n_splits? "yes" \\ {"a":"b"}';
    const fields = { url: "https://a.example/c/data/x.json", note, list: ["a=b", "tokens"], tokens: 5 };
    assert.partialDeepStrictEqual(lineOf(fields), fields);
  });

  it("leave every line JSON, whatever it holds", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc
        .array(fc.constantFrom('"', "\\", "?a=", "://", "@", "sig=", "Bearer ", "{", '\\"cookie\\":\\"'))
        .map((all) => all.join("")),
    );
    fc.assert(
      fc.property(text, text, (value, message) => {
        const line = lineOf({ note: value, list: [value] }, message);
        assert.equal(line.level, "info");
      }),
    );
  });
});

const hide = secretHider([]);

test("user names, passwords and queries of URLs are hidden", () => {
  for (const [line, shown] of [
    ["at https://me:SECRET@a.example/c?sig=SECRET now", "at https://…@a.example/c?… now"],
    ['{"url":"postgres://me:SE@CRET@db/x?y=SECRET"}', '{"url":"postgres://…@db/x?…"}'],
    ["'https://a.example/c?x=SECRET'", "'https://a.example/c?…'"],
    ["https://a.example/c and s3://b/c", "https://a.example/c and s3://b/c"],
  ] as const) {
    assert.equal(hide(line), shown);
  }
});

test("the URLs of a long line are hidden in linear time", () => {
  // A pattern that requires a mark at its end takes hours.
  const long = "ab://".repeat(2 ** 19);
  assert.equal(hide(long), long);
});

const IMPORT = `const { openLogDestination } = await import(${JSON.stringify(import.meta.resolve("./log.ts"))});`;

test("lines that a full disk refuses wait in bounded memory; further ones are lost and counted", (t) => {
  const descriptor = openSync("/dev/full", "w");
  t.after(() => closeSync(descriptor));
  const destination = openLogDestination(descriptor);
  for (let i = 0; i < 2_000; i++) destination.write(`${"x".repeat(999)}\n`);
  assert.equal(destination.lost, 2_000 - Math.floor(2 ** 20 / 1_000));
});

test("a stopped reader blocks nothing, and receives the lines once it reads again", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-lines-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  // The pipe holds 64 KiB. A line makes the destination try again.
  const program = `${IMPORT}
    const destination = openLogDestination(1);
    for (let i = 0; i < 200; i++) destination.write(i + "y".repeat(1000) + "\\n");
    (await import("node:fs")).writeFileSync("gate", "");
    setInterval(() => destination.write("next\\n"), 10);
    process.stdin.resume().on("end", () => process.exit());`;
  // The reader starts once all lines are written.
  const shell = 'mkfifo gate; "$0" --input-type=module -e "$1" | { cat gate; cat; }';
  const child = spawn("sh", ["-c", shell, process.execPath, program], { cwd: folder });
  let lines = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    lines += piece;
    if (lines.includes("199y")) child.stdin.end();
  });
  await once(child, "close");
  const numbers = [...lines.matchAll(/^(\d+)y{1000}$/gm)].map(([, number]) => Number(number));
  assert.deepEqual(numbers, [...Array(200).keys()]);
});
