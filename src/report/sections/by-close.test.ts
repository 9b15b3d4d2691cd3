import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { mlText } from "../../outputs/outputs.testing.ts";
import { page } from "../page.ts";
import { reported } from "../reported.testing.ts";

const TEXT = mlText({ skill: 0.2, scoreRows: 300 });

test("the first screen has the order at three closes, with its band, turnover and costs", () => {
  const html = page(reported(TEXT));
  const [, table] = /By the close of the trade<\/h3>(.*?)<\/table>/s.exec(html)!;
  const rows = [...table!.matchAll(/<bdi>([^<]*)<\/bdi><\/th>(.*)<\/tr>/g)].map(([, name, cells]) => [
    name,
    [...cells!.matchAll(/<td>([^<]*)<\/td>/g)].map(([, cell]) => cell),
  ]);
  assert.deepEqual(
    rows.map(([name]) => name),
    ["At the same close", "A close later", "Two closes later"],
  );
  const [ic, band, spread, replaced, net1, net5, netBand, net10, dates] = rows[0]![1] as string[];
  assert.match(ic!, /^\+0\.\d{3}$/);
  assert.match(band!, /^\+0\.\d{3} to \+0\.\d{3}$/);
  assert.match(replaced!, /^\d\d\.\d\u202f%$/);
  assert.ok([spread!, net1!, net5!, net10!].every((cell) => /^[+\u2212]\d+\.\d\u202fbp$/.test(cell)));
  assert.match(netBand!, /^[+\u2212]\d+\.\d to [+\u2212]\d+\.\d\u202fbp$/);
  assert.equal(dates, "298");
  assert.match(
    html,
    /which a job that starts after it cannot reach, and free of costs\. The table <a href="#verdict">/,
  );
});

test("an output of an older version has neither the table nor a link to it", () => {
  const { metrics, verdict, ...rest }: OutputBlob = JSON.parse(TEXT);
  const { by_delay: _, exposures: __, ...score } = metrics.score;
  const { by_delay: ___, exposures: ____, ...tested } = metrics.out_of_fold!;
  const { later: _____, ...older } = verdict!;
  const text = JSON.stringify({
    ...rest,
    verdict: older,
    metrics: { ...metrics, score, out_of_fold: tested },
  });
  const html = page(reported(text));
  assert.doesNotMatch(html, /By the close|close later|by close|Exposure to prices/);
});

test("three tickers have their order over time instead", () => {
  const html = page(reported(mlText({ tickers: ["A", "B", "C"], skill: 0.2, scoreRows: 300 })));
  assert.match(html, /<th scope="col">Order over time, deviations<\/th>/);
  assert.doesNotMatch(html, /After 5 bp|Exposure to prices/);
});
