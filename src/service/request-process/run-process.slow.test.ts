import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { eventuallyTrue } from "../../../test/service/eventually.testing.ts";
import { stillRunning, treeOf } from "../../../test/service/processes.testing.ts";
import { openStore } from "../../blob/open-store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { mlText } from "../../outputs/outputs.testing.ts";
import { childEnvironment } from "../../processes/child-environment.ts";
import { drawReport } from "../../report/write-report.ts";
import type { Log } from "../telemetry/log.ts";
import type { PreparedFiles, PrepareOrder, ReportOrder } from "./messages.ts";
import { prepareRequest } from "./prepare-request.ts";
import { RequestProcesses } from "./request-processes.ts";
import { type ProcessLimits, runProcess } from "./run-process.ts";

const LIMITS: ProcessLimits = {
  env: childEnvironment(process.env, {}),
  memoryBytes: 2 ** 30,
  seconds: 300,
  answerBytes: 2 ** 26,
};
const SPACE = "key-0123456789abcdef";
const NEVER = new AbortController().signal;

describe("the process of a request", { timeout: 600_000 }, () => {
  let folder: string;
  /** A storage that accepts requests and answers none. */
  let silent: Server;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "mucast-request-"));
    mkdirSync(join(folder, SPACE, "data"), { recursive: true });
    silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
  });
  after(() => {
    silent.closeAllConnections();
    silent.close();
    rmSync(folder, { recursive: true });
  });

  async function orderFor(name: string, text: string): Promise<ReportOrder> {
    writeFileSync(join(folder, SPACE, "data", name), text);
    const policy = { allowed: [], mapped: [{ base: "", folder, root: folder }] };
    const stored = await (await openStore("", { policy })).within(SPACE).stat(`data/${name}`);
    const storage = { blobUrl: "", policy };
    return { kind: "report", storage, outputs: [{ space: SPACE, name, etag: stored!.etag }] };
  }

  /** A report whose output never comes. */
  function heldOrder(): ReportOrder {
    const origin = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const policy = { allowed: [], privateOrigins: [origin], container: `${origin}/c` };
    const storage = { blobUrl: `${origin}/c?sv=2025-01-05&sig=secret`, policy };
    return { kind: "report", storage, outputs: [{ space: "", name: "ml_engine_1.json", etag: '"1"' }] };
  }

  /** The process of one request. */
  function held(limits: Partial<ProcessLimits> = {}, signal = NEVER) {
    const before = treeOf(process.pid).map(({ pid }) => pid);
    const running = runProcess(heldOrder(), { ...LIMITS, ...limits }, signal);
    running.catch(() => undefined);
    const made = treeOf(process.pid).filter(({ pid }) => !before.includes(pid));
    assert.equal(made.length, 1);
    return { running, pid: made[0]!.pid };
  }

  async function* chunksOf(text: string) {
    yield Buffer.from(text);
  }

  test("returns the page that mucast report draws of the same bytes", async () => {
    const text = mlText();
    const page = await runProcess(await orderFor("ml_engine_1.json", text), LIMITS, NEVER);
    const stored = { name: "ml_engine_1.json", read: () => chunksOf(text) };
    assert.equal(page.toString(), await drawReport([stored]));
  });

  test("returns the page that mucast report draws of several outputs", async () => {
    const texts = [mlText({ skills: [0.1, 0.2] }), mlText({ skills: [0.3, 0] })];
    const orders = [
      await orderFor("ml_engine_4.json", texts[0]!),
      await orderFor("ml_engine_5.json", texts[1]!),
    ];
    const order = { ...orders[0]!, outputs: orders.flatMap(({ outputs }) => outputs) };
    const page = await runProcess(order, LIMITS, NEVER);
    const stored = order.outputs.map(({ name }, i) => ({ name, read: () => chunksOf(texts[i]!) }));
    assert.equal(page.toString(), await drawReport(stored));
    assert.match(page.toString(), /<h2 id="comparison">/);
  });

  test("returns the error of an output that has no report, and of one that has changed meanwhile", async () => {
    const document = JSON.parse(mlText());
    document.mu.AAA = 0.5;
    const edited = await orderFor("ml_engine_2.json", JSON.stringify(document));
    await assert.rejects(runProcess(edited, LIMITS, NEVER), {
      code: "invalid_data",
      message: /its mu\.AAA is 0\.5/,
    });
    const [output] = edited.outputs;
    const gone = { ...edited, outputs: [{ ...output!, name: "ml_engine_3.json" }] };
    await assert.rejects(runProcess(gone, LIMITS, NEVER), { code: "blob_not_found" });
    await assert.rejects(
      runProcess({ ...edited, outputs: [{ ...output!, etag: '"other"' }] }, LIMITS, NEVER),
      {
        code: "blob_unavailable",
      },
    );
  });

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
    const good = await formOrder([prices]);
    const text = new FormData();
    text.append("prices", PRICES);
    const asText = new Response(text);
    const multipartType = asText.headers.get("content-type")!;
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
      [await formOrder([["\u2028", ""]]), "invalid_request", /^body: the part "\\u2028" is not known$/],
      [
        await formOrder(Array.from({ length: 101 }, () => prices)),
        "invalid_request",
        /^body: there are more than 100 parts$/,
      ],
      [
        { ...prepareOrder(Buffer.from(await asText.arrayBuffer())), multipartType },
        "invalid_request",
        /^body: the part "prices" is not a file/,
      ],
      [
        { ...good, multipartType: "multipart/form-data; boundary=other" },
        "invalid_request",
        /^body: the body is not multipart\/form-data/,
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

  test("that is killed gives one clear error, with how it ended", async () => {
    const { running, pid } = held();
    process.kill(pid, "SIGKILL");
    await assert.rejects(running, {
      code: "process_lost",
      message: "the process that was to draw the report was ended by SIGKILL",
    });
  });

  test("is killed at its time limit, and when its caller leaves", async () => {
    const late = held({ seconds: 0.001 });
    await assert.rejects(late.running, {
      code: "timed_out",
      message: /longer than 0.001 s \(request_seconds\)/,
    });
    const leaving = new AbortController();
    const left = held({}, leaving.signal);
    leaving.abort();
    await assert.rejects(left.running, { code: "canceled" });
    for (const { pid } of [late, left]) assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
    await assert.rejects(runProcess(await orderFor("x.json", "{}"), LIMITS, AbortSignal.abort()), {
      code: "canceled",
    });
  });

  test("is killed over its memory limit, and if its page is too large", async () => {
    // Less than the process holds once it has loaded its modules.
    await assert.rejects(held({ memoryBytes: 2 ** 25 }).running, {
      code: "too_large",
      message: "to draw the report takes more than 32 MiB of memory (request_memory_bytes)",
    });
    const small = await orderFor("ml_engine_5.json", mlText());
    await assert.rejects(runProcess(small, { ...LIMITS, answerBytes: 1_000 }, NEVER), {
      code: "too_large",
    });
  });

  test("ends if its service is killed while it works", async () => {
    const program = new URL("./held-request.testing.ts", import.meta.url).pathname;
    const asked = once(silent, "request");
    const service = spawn(process.execPath, [program, JSON.stringify(heldOrder())], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(service.stdout, "data");
    const [worker] = treeOf(service.pid!).filter(({ pid }) => pid !== service.pid);
    await asked;
    service.kill("SIGKILL");
    await eventuallyTrue("its process ends", () => stillRunning([worker!]).length === 0);
  });

  test("is refused at once beyond the maximum number, and is killed if the service closes", async () => {
    const processes = new RequestProcesses({
      atOnce: 2,
      limits: () => LIMITS,
      log: { info: () => undefined } as unknown as Log,
      telemetry: { requestProcessEnded: () => undefined },
    });
    const running = [1, 2].map(() => processes.run(heldOrder(), NEVER));
    await assert.rejects(processes.run(heldOrder(), NEVER), { code: "unavailable", data: { retryAfter: 5 } });
    assert.equal(processes.running, 2);
    const ended = Promise.all(running.map((each) => assert.rejects(each, { code: "unavailable" })));
    await processes.close();
    await ended;
    assert.equal(processes.running, 0);
  });

  test("that hits a defect reports it, and the error includes its output", async () => {
    const stored = await orderFor("x.json", "{}");
    const order = { ...stored, outputs: stored.outputs.map((output) => ({ ...output, space: "../x" })) };
    const error = await runProcess(order, LIMITS, NEVER).catch((caught: unknown) => caught);
    assert.ok(error instanceof MucastError && error.code === "internal", String(error));
  });
});
