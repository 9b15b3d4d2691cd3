import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { Reporter, type ReporterOptions } from "./reporter.ts";

/** What a reporter writes. */
function written(options: Partial<ReporterOptions>, body: (reporter: Reporter) => void): string {
  const stream = new PassThrough();
  body(new Reporter({ format: "text", quiet: false, stream, ...options }));
  return String(stream.read() ?? "");
}

const stale = (ticker: string) => ({ code: "stale_ticker" as const, ticker, message: `${ticker} ended` });

test("every warning is written, unless a number of tickers is given: then the rest are counted at the end", () => {
  const tell = (reporter: Reporter) => {
    for (const ticker of ["A", "B", "C", "D"]) reporter.warn(stale(ticker));
    reporter.finish();
  };
  assert.equal(written({}, tell).match(/ended/g)?.length, 4);
  assert.equal(
    written({ tickersShown: 3 }, tell),
    "warning: stale_ticker: A ended\nwarning: stale_ticker: B ended\nwarning: stale_ticker: C ended\n" +
      "warning: stale_ticker: 1 more ticker, all in the output and with --log json\n",
  );
  assert.equal(written({ tickersShown: 3, format: "json" }, tell).match(/ended/g)?.length, 4);
});

test("a ticker cannot start a line or control the terminal", () => {
  const text = written({}, (reporter) => reporter.warn(stale("A\nerror: \u001b[2J")));
  assert.equal(text, "warning: stale_ticker: A\\u000aerror: \\u001b[2J ended\n");
});

test("--quiet silences progress but no warning", () => {
  const text = written({ quiet: true }, (reporter) => {
    reporter.report({ kind: "progress", stage: "fit", done: 1, total: 2 });
    reporter.report({ kind: "warning", warning: stale("A") });
    reporter.finish();
  });
  assert.equal(text, "warning: stale_ticker: A ended\n");
});

test("a terminal's bar is erased before anything else is written, and at the end", () => {
  const stream = Object.assign(new PassThrough(), { isTTY: true });
  const reporter = new Reporter({ format: "text", quiet: false, stream });
  reporter.report({ kind: "progress", stage: "fit", done: 1, total: 4 });
  reporter.warn(stale("A"));
  reporter.report({ kind: "progress", stage: "fit", done: 4, total: 4 });
  reporter.finish();
  const text = String(stream.read());
  assert.ok(text.includes("\r\x1b[Kwarning: stale_ticker: A ended\n"));
  assert.ok(text.endsWith("4 of 4\r\x1b[K"));
});

test("the signature of a SAS is never written, even if a message repeats it", () => {
  const url = 'https://a.example/c?sv=1&sig=SECRET%2B"';
  for (const format of ["text", "json"] as const) {
    const line = written({ format }, (reporter) => reporter.write({ value: url }, `got ${url}`));
    assert.doesNotMatch(line, /SECRET/);
    if (format === "json") assert.equal(JSON.parse(line).value, 'https://a.example/c?sv=1&sig=…"');
  }
});

test("an epoch is written with its ticker, its losses and the remaining time", () => {
  const epoch = { ticker: "A\n", epoch: 3, train_loss: 0.98765, validation_loss: 1 };
  const event = { kind: "progress", stage: "fit", done: 8, total: 8, ...epoch } as const;
  const tell = (reporter: Reporter) => reporter.report(event);
  assert.equal(written({}, tell), "fitting: 8 of 8, A\\u000a epoch 3: loss 0.9877, validation 1.000\n");
  const tellMember = (reporter: Reporter) => reporter.report({ ...event, member: 0 });
  assert.match(written({}, tellMember), /, A\\u000a member 0 epoch 3: loss/);
  const { time: _, eta_seconds, ...told } = JSON.parse(written({ format: "json" }, tell));
  assert.deepEqual(told, { level: "info", ...event });
  assert.equal(eta_seconds, 0);
});

test("JSON lines report every epoch, text only as many as a person can follow", () => {
  const tell = (reporter: Reporter) => {
    for (const epoch of [1, 2, 3]) {
      reporter.report({ kind: "progress", stage: "fit", done: epoch, total: 9, ticker: "A", epoch });
    }
  };
  const lines = written({ format: "json" }, tell).trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).epoch),
    [1, 2, 3],
  );
  assert.equal(written({}, tell).match(/\n/g)?.length, 1);
});

test("the remaining time is written once a pace is known, and covers only the work", (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const text = written({ workers: 2 }, (reporter) => {
    const fitted = (done: number, seconds: number) => {
      now = seconds * 1_000;
      reporter.report({ kind: "progress", stage: "fit", done, total: 100 });
    };
    fitted(0, 0);
    // Two workers import for 30 s; then every pair of fits takes 10 s.
    fitted(1, 40);
    fitted(2, 43);
    fitted(3, 50);
    fitted(4, 53);
    fitted(20, 130);
  });
  assert.deepEqual(text.split("\n").slice(0, -1), [
    "fitting: 0 of 100",
    "fitting: 1 of 100",
    "fitting: 2 of 100",
    "fitting: 3 of 100, 485 s left",
    "fitting: 4 of 100, 416 s left",
    "fitting: 20 of 100, 379 s left",
  ]);
});
