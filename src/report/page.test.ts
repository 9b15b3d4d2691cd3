import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { dlText, mlText } from "../outputs/outputs.testing.ts";
import { typesetFigures } from "../view/figures.ts";
import { page, SECTIONS } from "./page.ts";
import { sentenceHtml } from "./panels/panel.ts";
import { reported, reportedData, sentencesIn } from "./reported.testing.ts";

const INTERVALS = { intervals: { alpha: 0.1 } };

/** An output of a job that chose among three candidates. */
const chosenText = () =>
  mlText({
    config: { ...INTERVALS, n_splits: 2, choice: { candidates: [{ grid: { alpha: [2, 3] } }], warm_up: 2 } },
    folds: 4,
    skills: [0, 0.1, 0.1],
  });

/** The text of a page without its tags. */
function textOf(html: string): string {
  return html
    .replace(/<[^>]*>/g, "")
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

test("the same outputs give the same bytes", () => {
  const text = mlText({ config: INTERVALS });
  assert.equal(page(reported(text)), page(reported(text)));
});

test("the policy allows the one style and the one script by their hashes, and allows nothing else", () => {
  const html = page(reported(mlText({ config: INTERVALS }), dlText({ config: INTERVALS, seed: 2 })));
  const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html)![1]!;
  assert.ok(policy.startsWith("default-src 'none';"));
  for (const kind of ["style", "script"]) {
    const [inner, ...more] = [...html.matchAll(new RegExp(`<${kind}>(.*?)</${kind}>`, "gs"))].map(
      ([, text]) => text!,
    );
    assert.deepEqual(more, []);
    const hash = createHash("sha256").update(inner!).digest("base64");
    assert.ok(policy.includes(`${kind}-src 'sha256-${hash}'`));
  }
  assert.doesNotMatch(html, /<(?:link|img|iframe|object|embed|base|form)\b| (?:on\w+|style|src|href="[^#])=/);
  const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  assert.equal(new Set(ids).size, ids.length);
});

test("the page shows every part of the report", () => {
  for (const text of [chosenText(), dlText({ config: INTERVALS })]) {
    const shown = textOf(page(reported(text)));
    const parts = Object.entries(reportedData(text).outputs[0]!).filter(([, part]) => !("absent" in part));
    assert.ok(parts.length > 4);
    for (const [name, part] of parts) {
      const sentences = sentencesIn(part);
      assert.ok(sentences.length > 0, name);
      for (const sentence of sentences) {
        const isShown = shown.includes(sentence) || shown.includes(typesetFigures(sentence));
        assert.ok(isShown, `${name}: ${sentence}`);
      }
    }
  }
});

test("the data of a report has a finding of every section with panels", () => {
  const text = chosenText();
  const sentences = sentencesIn(reportedData(text).outputs[0]);
  const sections = [...page(reported(text)).matchAll(/<h2 id="([^"]+)">.*?<\/section>/gs)];
  const without = sections.flatMap(([html, id]) => {
    const findings = [...html.matchAll(/<figcaption><h3>.*?<\/h3><p>(.*?)<\/p>/gs)].map(([, told]) =>
      textOf(told!),
    );
    const isTold = findings.some((told) => sentences.some((sentence) => told.startsWith(sentence)));
    return findings.length === 0 || isTold ? [] : [id];
  });
  assert.deepEqual(without, [], "sections whose function is not called in dataOf of reported.testing.ts");
});

test("every section that a file exports is on the page", async () => {
  const folder = new URL("./sections/", import.meta.url);
  const files = readdirSync(folder).filter((name) => !name.endsWith(".test.ts"));
  const exported = await Promise.all(files.map((name) => import(new URL(name, folder).href)));
  const sections = exported.flatMap((file) =>
    Object.entries(file).flatMap(([name, value]) => (name.endsWith("Section") ? [value] : [])),
  );
  assert.deepEqual(new Set(sections), new Set(SECTIONS));
  const html = page(reported(chosenText(), dlText({ config: INTERVALS, seed: 2 })));
  assert.deepEqual(
    [...html.matchAll(/<h2 id="([^"]+)">/g)].map(([, id]) => id),
    SECTIONS.map(({ id }) => id),
  );
});

test("a report on networks without realised returns says why once, and has neither empty sections nor empty columns", () => {
  const open = () => dlText({ isOpen: true, config: INTERVALS });
  const sectionsOf = (html: string) => [...html.matchAll(/<h2 id="([^"]+)">/g)].map(([, id]) => id);
  const html = page(reported(open()));
  assert.deepEqual(sectionsOf(html), ["verdict", "forecasts", "folds", "tickers", "origin"]);
  const shown = textOf(html);
  for (const sentence of [
    /No realised return is known for these forecasts yet\./g,
    /Networks record no out-of-fold/g,
  ])
    assert.equal(shown.match(sentence)?.length, 1, String(sentence));
  assert.doesNotMatch(html, /id="show-rank"|<th [^>]*>(?:<bdi>)?(?:R²|Hit rate|Misses|Gain over zero)</);
  const two = page(reported(open(), open()));
  assert.deepEqual(sectionsOf(two), ["comparison", ...sectionsOf(html)]);
});

test("charts with the same title are side by side on one scale", () => {
  const html = page(
    reported(mlText({ config: INTERVALS }), mlText({ config: INTERVALS, seed: 2, skill: 0.4 })),
  );
  const scales = [...html.matchAll(/<h3>IC, cumulative.*?data-low="([^"]+)" data-high="([^"]+)"/gs)].map(
    ([, low, high]) => [low, high],
  );
  assert.equal(scales.length, 2);
  assert.deepEqual(scales[0], scales[1]);
});

test("coverage by volatility has a column for each tenth and method, and its numbers; an older output has no such panel", () => {
  const text = mlText({ config: INTERVALS });
  const panelOf = (from: string) =>
    /<figure[^>]*><figcaption><h3>Coverage by volatility.*?<\/figure>/s.exec(page(reported(from)))?.[0];
  const panel = panelOf(text)!;
  assert.match(panel, /adaptive, by tenths of each ticker.{1,5}s days; 1 is the quietest/);
  assert.match(panel, /<path class="bar second" d="M/);
  assert.equal(panel.match(/<th scope="row"><bdi>\d+<\/bdi>/g)?.length, 10);
  const older = JSON.parse(text);
  delete older.verdict;
  delete older.metrics.intervals.by_volatility;
  delete older.metrics.intervals.joint_misses;
  assert.equal(panelOf(JSON.stringify(older)), undefined);
});

test("values that are not numbers are neither drawn nor written", () => {
  for (const market of [
    { scoreRows: 2 },
    { tickers: ["A"], scoreRows: 3 },
    { isOpen: true },
    { tickers: [] },
  ]) {
    const html = page(reported(mlText({ config: INTERVALS, ...market })));
    const main = html.slice(html.indexOf("<main>"), html.indexOf("</main>"));
    const found = /.{0,200}(?:NaN|Infinity|undefined|\[object).{0,50}/.exec(main)?.[0];
    assert.equal(found, undefined, JSON.stringify(market));
  }
});

test("a number and its percent sign stay on one line", () => {
  const compared = [mlText({ config: INTERVALS }), dlText({ config: INTERVALS, seed: 2 })];
  for (const texts of [compared, [mlText()], [mlText({ scoreRows: 4 })]]) {
    const html = page(reported(...texts));
    assert.deepEqual(html.slice(html.indexOf("<main>")).match(/.{0,40}\d[ \n]%.{0,10}/g), null);
  }
});

test("a date in a sentence stays on one line, and hostile text around it is text", () => {
  assert.equal(sentenceHtml("<b> to 2020-03-25."), '&lt;b&gt; to <span class="date">2020-03-25</span>.');
  const html = page(reported(mlText({ config: INTERVALS })));
  assert.doesNotMatch(html, /<figcaption>(?:(?!<\/figcaption>).)*(?<!class="date">)\b\d{4}-\d\d-\d\d/s);
});

test("an ensemble's other members are thin lines behind member 0, up to a limit, and their best epochs are in the table", () => {
  const training = (ensemble: number) => {
    const html = page(reported(dlText({ config: { training_params: { ensemble } } })));
    return /<figure[^>]*><figcaption><h3>Training of.*?<\/figure>/s.exec(html)![0];
  };
  const three = training(3);
  assert.equal(three.match(/<path class="line faint" d="(?:M[^M"]*){2}"/g)?.length, 8);
  assert.match(three, /<\/svg>validation loss of the other members<\/li>/);
  assert.match(three, /<th scope="col">Other members<\/th><th scope="col">Their best epochs<\/th>/);
  assert.match(three, /<td>2<\/td><td>5 to 6<\/td>/);
  const fifty = training(50);
  assert.equal(fifty.match(/<path class="line faint" d="(?:M[^M"]*){19}"/g)?.length, 8);
  assert.match(fifty, /<\/svg>validation loss of 19 of the 49 other members<\/li>/);
  assert.doesNotMatch(training(1), /faint|members/);
});

test("the loss of the zero forecast is a line across the curves of a network, and is named", () => {
  const html = page(reported(dlText()));
  const curves = /<figure[^>]*><figcaption><h3>Training of.*?<\/figure>/s.exec(html)![0];
  assert.match(curves, /<li><svg[^>]*><path class="level"[^>]*\/><\/svg>loss of the zero forecast<\/li>/);
  // The fan of all networks, and the curves of each of the eight.
  assert.equal(curves.match(/<svg class="chart".*?<path class="level" d="M0 \d+H1000"\/>/gs)?.length, 9);
  assert.match(curves, /<th scope="col">Loss of the zero forecast<\/th>/);
});

test("up to four networks have their curves at once; more are one fan, and single ones open on demand", () => {
  const training = (tickers: number) => {
    const names = Array.from({ length: tickers }, (_, i) => `T${i}`);
    return /<figure[^>]*><figcaption><h3>Training of.*?<\/figure>/s.exec(
      page(reported(dlText({ tickers: names }))),
    )![0];
  };
  assert.doesNotMatch(training(4), /median validation loss|Curves of single networks/);
  const five = training(5);
  assert.match(five, /data-name="median validation loss".*data-name="median training loss"/s);
  assert.match(five, /<path class="band" d=.*<path class="band inner" d=/s);
  assert.equal(/<details class="curves">.*/s.exec(five)![0].match(/data-name="validation loss"/g)!.length, 5);
});

test("a config is text with its own lines, and invisible characters in it have numbers", () => {
  const document = JSON.parse(mlText());
  document.provenance.config = '{\n  "model": "ridge",\t"x": "<b>\u202e\u00a0"\n}';
  const html = page(reported(JSON.stringify(document)));
  const written = /<pre class="config"[^>]*><code>(.*?)<\/code>/s.exec(html)![1];
  assert.equal(
    written,
    "{\n  &quot;model&quot;: &quot;ridge&quot;,\t&quot;x&quot;: &quot;&lt;b&gt;[U+202E][U+00A0]&quot;\n}",
  );
  assert.doesNotMatch(html, /\[U\+000A\]/);
});

test("a run with a cut has the charts of its order and its sizes for its score rows and for its out-of-fold rows", () => {
  const html = page(reported(mlText({ config: INTERVALS, fitRows: 300, folds: 10 })));
  assert.match(html, /id="show-folds" checked>Out of fold/, "the verdict is on these rows");
  for (const title of ["RankIC, cumulative", "Return by forecast quantile", "Calibration"])
    assert.equal(html.split(`<h3>${title}<`).length, 3, title);
  assert.equal(html.split("<h3>Coverage by ticker<").length, 2);
  assert.match(textOf(html), /judged on 1,600 out-of-fold rows of 8 tickers over 200 dates/);
  assert.match(
    html,
    /<p class="intro of-folds">The output has no interval for each out-of-fold forecast, only their coverage\. This section shows the score rows\./,
  );
});

test("a run without a cut, a network and several outputs have no switch of rows; a network says why", () => {
  const texts = [
    [mlText({ isOpen: true })],
    [dlText({ config: INTERVALS })],
    [dlText({ isOpen: true })],
    [mlText(), mlText({ seed: 2 })],
  ];
  const pages = texts.map((some) => page(reported(...some)));
  for (const html of pages) assert.doesNotMatch(html, /name="rows"|class="of-folds"/);
  for (const html of pages.slice(1, 3)) assert.match(html, /Networks record no out-of-fold rows/);
});
