import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { MucastError } from "../../contract/errors/errors.ts";
import type { PreparedFiles, PrepareOrder } from "./messages.ts";
import { prepareRequest } from "./prepare-request.ts";
import { LIMITS, NEVER } from "./request-limits.testing.ts";
import { runProcess } from "./run-process.ts";

describe("the process of a preparation", { timeout: 600_000 }, () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "mucast-prepare-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  /** What the process does with an order, in this process, for the many cases that need no process of their own. */
  async function prepared(order: PrepareOrder): Promise<string> {
    const here = process.cwd();
    try {
      return await prepareRequest(order);
    } finally {
      process.chdir(here);
    }
  }

  function prepareOrder(csv: string | Buffer, options: PrepareOrder["options"] = {}): PrepareOrder {
    const place = mkdtempSync(join(folder, "prepare-"));
    writeFileSync(join(place, "body"), csv);
    return { kind: "prepare", folder: place, options, csvBytes: 10_000, blobBytes: 100_000, tickers: 3 };
  }

  test("returns the blobs that mucast prepare makes of a price CSV, and its messages about them", async () => {
    const csv = "Date,A,B,Z\n2020-01-01,1,2,\n2020-01-02,-1,3,\n2020-03-02,1,,\n2020-05-05,1,,\n";
    const order = prepareOrder(gzipSync(csv), { learningEnd: "2020-01-02" });
    const answer: PreparedFiles = JSON.parse((await runProcess(order, LIMITS, NEVER)).toString());
    const { files, warnings, ...facts } = answer;
    const { features, ...window } = facts;
    assert.deepEqual(window, {
      id: facts.id,
      tickers: ["A", "B"],
      tickerCount: 2,
      warningCount: 3,
      dates: 4,
      start: "2020-01-01",
      end: "2020-05-05",
      learningEnd: "2020-01-02",
    });
    assert.deepEqual([features.length, warnings.length], [26, 3]);
    assert.equal(warnings[0], "Z has no price and is left out");
    assert.equal(warnings[1], "A: 1 price is zero or negative; its date gets no features");
    assert.match(warnings[2]!, /^A has prices .* no job can learn from it; give daily or weekly prices$/);
    for (const [prefix, { name, path, bytes, sha256 }] of [
      ["data_extractor", files.prices],
      ["feature_engine", files.features],
    ] as const) {
      assert.equal(name, `${prefix}_${facts.id}.json`);
      const stored = readFileSync(path);
      assert.deepEqual([bytes, sha256], [stored.length, createHash("sha256").update(stored).digest("hex")]);
    }
  });

  /** An order whose body is a form with these files. */
  async function formOrder(
    parts: readonly (readonly [name: string, content: string | Uint8Array])[],
    options: PrepareOrder["options"] = {},
  ): Promise<PrepareOrder> {
    const form = new FormData();
    for (const [name, content] of parts)
      form.append(name, new Blob([new Uint8Array(Buffer.from(content))]), name);
    const request = new Response(form);
    const multipartType = request.headers.get("content-type")!;
    return { ...prepareOrder(Buffer.from(await request.arrayBuffer()), options), multipartType };
  }

  const PRICES = "Date,A\n2020-01-01,1\n2020-01-02,2\n";
  const OWN = "Date,Ticker,x\n2020-01-01,A,5\n";

  test("adds the features of a form's table, in both formats, and gives the same blobs as the body alone", async () => {
    const run = async (order: PrepareOrder): Promise<PreparedFiles> => JSON.parse(await prepared(order));
    const prices = ["prices", PRICES] as const;
    const alone = await run(prepareOrder(PRICES));
    assert.equal((await run(await formOrder([prices]))).id, alone.id);
    const parquet = await run(prepareOrder(PRICES, { format: "parquet" }));
    assert.match(parquet.files.prices.name, /\.parquet$/);
    const table = readFileSync(parquet.files.prices.path);
    assert.equal((await run(prepareOrder(table))).id, alone.id);
    const options = { onlyFeatures: true };
    const own = await run(await formOrder([["features", gzipSync(OWN)], prices], options));
    assert.deepEqual(own.features, ["x"]);
    assert.equal(
      readFileSync(own.files.features.path, "utf8"),
      '{"dates":["2020-01-01","2020-01-02"],"features":{\n"A":{"x":[5,null]}\n}}\n',
    );
    const both = await run(
      await formOrder([
        ["prices", table],
        ["features", OWN],
      ]),
    );
    assert.deepEqual(both.features, [...alone.features, "x"]);
  });

  test("names the file of a form that cannot be prepared, or the part that is wrong", async () => {
    const prices = ["prices", PRICES] as const;
    for (const [order, code, message] of [
      [
        await formOrder([prices, ["features", `${OWN}2020-01-02,A,abc\n`]]),
        "invalid_data",
        /^features\.csv: "abc" \(line 3, "x"\)/,
      ],
      [
        await formOrder([
          ["prices", `${PRICES}x,1`],
          ["features", OWN],
        ]),
        "invalid_data",
        /^prices\.csv: line 4/,
      ],
      [await formOrder([["features", OWN]]), "invalid_request", /^body: the part "prices" is missing$/],
      [await formOrder([prices, prices]), "invalid_request", /^body: the part "prices" comes twice$/],
      [await formOrder([prices, ["other", ""]]), "invalid_request", /^body: the part "other" is not known$/],
      [
        await formOrder(Array.from({ length: 101 }, () => prices)),
        "invalid_request",
        /^body: there are more than 100 parts$/,
      ],
      [
        { ...prepareOrder("Date,A"), multipartType: "multipart/form-data" },
        "invalid_request",
        /^body: the body is not/,
      ],
    ] as const) {
      const error = await prepared(order).catch((caught: unknown) => caught);
      assert.ok(error instanceof MucastError, `${message}`);
      assert.deepEqual([error.code, error.data.path], [code, "body"], error.message);
      assert.match(error.message, message);
      assert.doesNotMatch(JSON.stringify([error.message, error.data]), /prepare-/);
    }
    const only = prepareOrder(PRICES, { onlyFeatures: true });
    await assert.rejects(prepared(only), {
      message: /^query\.only_features: needs a table/,
    });
  });

  test("refuses names of features that an answer could not have", async () => {
    const names = (length: number) => Array.from({ length: 4_000 }, (_, n) => String(n).padEnd(length, "x"));
    const order = async (length: number) => {
      const table = `Date,Ticker,${names(length).join()}\n2020-01-01,A${",1".repeat(4_000)}\n`;
      const parts = [["prices", PRICES] as const, ["features", table] as const];
      const options = { onlyFeatures: true, format: "parquet" } as const;
      return { ...(await formOrder(parts, options)), csvBytes: 2 ** 24, blobBytes: 2 ** 24 };
    };
    await assert.rejects(prepared(await order(800)), {
      code: "too_large",
      message: /^the names of the 4000 features take 3212001 bytes as JSON; at most 3145728/,
    });
    assert.equal(JSON.parse(await prepared(await order(700))).features.length, 4_000);
  });

  test("names the line of a CSV that cannot be prepared, or the part of the request, and no path of this machine", async () => {
    for (const [csv, options, code, path, message] of [
      [
        "Date,A\n2020-01-01,1\n2020-01-01,2",
        {},
        "invalid_data",
        "body",
        /^prices\.csv: line 3 gives A a second/,
      ],
      [
        gzipSync(`Date,A\n${"1".repeat(20_000)}`),
        {},
        "too_large",
        "body",
        /prices\.csv .*10000 decompressed/,
      ],
      [
        "Date,A,B,C,D\n2020-01-01,1,1,1,x",
        {},
        "too_large",
        "body",
        /^prices\.csv: line 1 makes 4 tickers, and 3/,
      ],
      [
        "Date,A\n2020-01-01,1",
        { tickers: ["x".repeat(9_000)] },
        "invalid_request",
        "query.tickers",
        /^query\.tickers: "x{20,200}… has no price$/,
      ],
      [
        "Date,A\n2020-01-01,1",
        { tickers: ["B"] },
        "invalid_request",
        "query.tickers",
        /^query\.tickers: "B" has no price/,
      ],
    ] as const) {
      const order = prepareOrder(csv, options);
      const error = await prepared(order).catch((caught: unknown) => caught);
      assert.ok(error instanceof MucastError, `${message}`);
      assert.deepEqual([error.code, error.data.path], [code, path], error.message);
      assert.match(error.message, message);
      assert.doesNotMatch(JSON.stringify([error.message, error.data]), /prepare-/);
    }
    const narrow = { ...prepareOrder("Date,A\n2020-01-01,1"), blobBytes: 100 };
    await assert.rejects(prepared(narrow), {
      code: "too_large",
      message: /^data\/feature_engine_\w+\.json would hold more than the limit of 100 bytes$/,
    });
  });
});
