import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { prepareRequest } from "./prepare-request.ts";
import type { PrepareOrder } from "./request-processes.ts";

const PRICES = "Date,A\n2020-01-01,1\n2020-01-02,2\n";
const OWN = "Date,Ticker,x\n2020-01-01,A,5\n";
type Parts = readonly (readonly [name: string, content: string | Uint8Array])[];

describe("the request to prepare prices", { timeout: 600_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-prepare-"));
  after(() => rmSync(folder, { recursive: true }));

  /** Does what the process does with a body, in this process. */
  async function prepare(
    content: string | Uint8Array | Parts,
    options: PrepareOrder["options"] = {},
    changes: Partial<PrepareOrder> = {},
  ) {
    const place = mkdtempSync(join(folder, "prepare-"));
    const body = join(place, "body");
    let multipartType: string | undefined;
    if (typeof content === "string" || content instanceof Uint8Array) writeFileSync(body, content);
    else {
      const form = new FormData();
      for (const [name, text] of content) form.append(name, new Blob([Buffer.from(text)]), name);
      const request = new Response(form);
      multipartType = request.headers.get("content-type")!;
      writeFileSync(body, Buffer.from(await request.arrayBuffer()));
    }
    const limits = { csvBytes: 10_000, blobBytes: 100_000, tickers: 3 };
    const here = process.cwd();
    try {
      const order = { kind: "prepare", folder: place, body, multipartType, options, ...limits } as const;
      const { answer, files } = await prepareRequest({ ...order, ...changes });
      return { ...answer, files };
    } finally {
      process.chdir(here);
    }
  }

  test("returns the blobs that mucast prepare makes of a price CSV, and its messages about them", async () => {
    const csv = "Date,A,B,Z\n2020-01-01,1,2,\n2020-01-02,-1,3,\n2020-03-02,1,,\n2020-05-05,1,,\n";
    const { files, warnings, features, id, ...facts } = await prepare(gzipSync(csv), {
      learningEnd: "2020-01-02",
    });
    assert.deepEqual(facts, {
      ...{ tickers: ["A", "B"], ticker_count: 2, warning_count: 3, dates: 4 },
      ...{ start: "2020-01-01", end: "2020-05-05", learning_end: "2020-01-02" },
    });
    assert.deepEqual([features.length, warnings.length], [26, 3]);
    assert.equal(warnings[0], "Z has no price and is left out");
    assert.equal(warnings[1], "A: 1 price is zero or negative; its date gets no features");
    for (const [prefix, { name, path, bytes, sha256 }] of [
      ["data_extractor", files.prices],
      ["feature_engine", files.features],
    ] as const) {
      assert.equal(name, `${prefix}_${id}.json`);
      const stored = readFileSync(path);
      assert.deepEqual([bytes, sha256], [stored.length, createHash("sha256").update(stored).digest("hex")]);
    }
  });

  test("adds the features of a form's table, in both formats, and gives the same blobs as the body alone", async () => {
    const { id, features } = await prepare(PRICES);
    assert.equal((await prepare([["prices", PRICES]])).id, id);
    const parquet = await prepare(PRICES, { format: "parquet" });
    const table = readFileSync(parquet.files.prices.path);
    assert.equal((await prepare(table)).id, id);
    const parts = [
      ["features", gzipSync(OWN)],
      ["prices", table],
    ] as const;
    assert.deepEqual((await prepare(parts)).features, [...features, "x"]);
    const own = await prepare(parts, { onlyFeatures: true });
    assert.deepEqual(own.features, ["x"]);
    assert.equal(
      readFileSync(own.files.features.path, "utf8"),
      '{"dates":["2020-01-01","2020-01-02"],"features":{\n"A":{"x":[5,null]}\n}}\n',
    );
  });

  const prices = ["prices", PRICES] as const;
  const table = (text: string): Parts => [prices, ["features", text]];
  const wide = Array.from({ length: 4_000 }, (_, n) => String(n).padEnd(800, "x"));
  const long = `Date,Ticker,${wide.join()}\n2020-01-01,A${",1".repeat(4_000)}\n`;
  const large = { csvBytes: 2 ** 24, blobBytes: 2 ** 24 };
  const form = { multipartType: "multipart/form-data" };
  const bomb = gzipSync(`Date,A\n${"1".repeat(20_000)}`);
  const unknown = { tickers: ["x".repeat(9_000)] };
  const refused: readonly (readonly [RegExp, ErrorCode, ...Parameters<typeof prepare>])[] = [
    [/^prices\.csv: line 4 gives A a second/, "invalid_data", `${PRICES}2020-01-02,2`],
    [/prices\.csv .*10000 decompressed/, "too_large", bomb],
    [/^query\.tickers: "x{20,200}… has no price$/, "invalid_request", PRICES, unknown],
    [/^features\.csv: "abc" \(line 3, "x"\)/, "invalid_data", table(`${OWN}2020-01-02,A,abc\n`)],
    [
      /^the names of the 4000 features take 3212001 bytes/,
      "too_large",
      table(long),
      { onlyFeatures: true, format: "parquet" },
      large,
    ],
    [/^body: the part "prices" is missing$/, "invalid_request", [["features", OWN]]],
    [/^body: the body is not multipart/, "invalid_request", PRICES, {}, form],
  ];
  test("names the line that cannot be prepared, or the part of the request, and no path of this machine", async () => {
    for (const [message, code, ...request] of refused) {
      const error = await prepare(...request).catch((caught: unknown) => caught);
      assert.ok(error instanceof MucastError, `${message}`);
      assert.match(error.message, message);
      const [, parameter] = /^(query\.\w+):/.exec(error.message) ?? [];
      assert.deepEqual([error.code, error.data.path], [code, parameter ?? "body"], error.message);
      assert.doesNotMatch(JSON.stringify([error.message, error.data]), /prepare-/);
    }
  });
});
