import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { h } from "preact";
import { renderToString } from "preact-render-to-string";
import { dlText, mlText } from "../outputs/outputs.testing.ts";
import { sentence } from "../view/text.ts";
import { page, SECTIONS } from "./page.ts";
import { reported, textOf } from "./reported.testing.ts";
import { configText } from "./sections/origin.ts";

const INTERVALS = { intervals: { alpha: 0.1 } };

/** An output of a job that chose among three candidates. */
const chosenText = () =>
  mlText({
    config: { ...INTERVALS, n_splits: 2, choice: { candidates: [{ grid: { alpha: [2, 3] } }], warm_up: 2 } },
    folds: 4,
    skills: [0, 0.1, 0.1],
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

test("the sections are on the page in their order", () => {
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
  assert.doesNotMatch(html, /id="show-rank"|<th [^>]*>(?:<bdi>)?(?:R²|Hit rate|Gain over zero)</);
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

test("a date in a sentence stays on one line, and hostile text around it is text", () => {
  assert.equal(
    renderToString(h("p", null, sentence("<b> to 2020-03-25.\u202e"))),
    '<p>&lt;b> to <span class="date">2020-03-25</span>.[U+202E]</p>',
  );
  const html = page(reported(mlText({ config: INTERVALS })));
  assert.doesNotMatch(html, /<figcaption>(?:(?!<\/figcaption>).)*(?<!class="date">)\b\d{4}-\d\d-\d\d/s);
});

test("a config is text with its own lines, and invisible characters in it have numbers", () => {
  const document = JSON.parse(mlText());
  document.provenance.config = '{\n  "model": "ridge",\t"x": "<b>\u202e\u00a0"\n}';
  const html = page(reported(JSON.stringify(document)));
  const written = /<pre class="config"[^>]*><code>(.*?)<\/code>/s.exec(html)![1];
  assert.equal(
    written,
    "{\n  &quot;model&quot;: &quot;ridge&quot;,\t&quot;x&quot;: &quot;&lt;b>[U+202E][U+00A0]&quot;\n}",
  );
  assert.doesNotMatch(html, /\[U\+000A\]/);
});

test("a run with a cut has the charts of its order and its sizes for its score rows and for its out-of-fold rows", () => {
  const html = page(reported(mlText({ config: INTERVALS, fitRows: 300, folds: 10 })));
  assert.match(html, /id="show-folds"[^>]* checked[^>]*>Out of fold/, "the verdict is on these rows");
  for (const title of ["RankIC, cumulative", "Return by fifth of the forecasts", "Calibration"])
    assert.equal(html.split(`<h3>${title}<`).length, 3, title);
  assert.equal(html.split("<h3>Coverage by year<").length, 2);
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

test("the first screen answers what was forecast, whether it shows skill, what is left, what to believe and what to do next", () => {
  const html = page(reported(mlText({ config: INTERVALS, skill: 0.2, scoreRows: 300 })));
  const first = /<dl class="answers">.*?<\/dl>/s.exec(html)![0];
  assert.deepEqual(
    [...first.matchAll(/<dt>(.*?)<\/dt>/g)].map(([, question]) => question),
    ["Forecast", "Skill", "After costs", "Intervals", "Next"],
  );
  assert.match(textOf(first), /^Forecast ?Next-day log-returns \(mu\) of 8 tickers as of [\d-]+, by ridge\./);
  assert.ok(html.indexOf(first) < html.indexOf("<figure"));
});

test("a config of one long line gets line breaks, and its numbers stay as they were written", () => {
  const config = `{"model":"ridge","model_params":{"alpha":1.0e0},"none":{},"text":"${"z".repeat(60)}"}`;
  assert.equal(
    configText(config),
    `{\n  "model": "ridge",\n  "model_params": {\n    "alpha": 1.0e0\n  },\n  "none": {},\n  "text": "${"z".repeat(60)}"\n}`,
  );
  for (const text of ['{"model":"ridge"}', '{\n    "model": "ridge"\n}', `}"${"{[,".repeat(40)}`])
    assert.equal(configText(text), text);
});
