import assert from "node:assert/strict";
import { test } from "node:test";
import { dlText, mlText } from "../../outputs/outputs.testing.ts";
import { page } from "../page.ts";
import { reported } from "../reported.testing.ts";
import { documentTitle, fitOf, identityOf } from "./identity.ts";

test("an identity says the model, the fit, the tickers, the dates, the data and the run", () => {
  const { name, facts } = identityOf(reported(mlText()).outputs[0]!);
  assert.equal(name, "ridge");
  assert.deepEqual(facts, [
    ["Fit", "per ticker"],
    ["Tickers", "8"],
    ["As of", "2016-01-14"],
    ["Learned until", "2015-07-30"],
    ["Scored", "2015-07-31 to 2016-01-13"],
    ["Data", "feature.json, prices.json"],
    ["Run", "1"],
  ]);
});

test("tags replace the names of the data, and queries of URLs are left out", () => {
  const document = JSON.parse(mlText());
  document.provenance.feature_url = "https://a.example/in/f.json?sig=secret";
  const dataOf = (value: unknown) =>
    identityOf(reported(JSON.stringify(value)).outputs[0]!).facts.find(([fact]) => /Data|Tags/.test(fact));
  assert.deepEqual(dataOf(document), ["Data", "f.json, prices.json"]);
  assert.deepEqual(dataOf({ ...document, tags: ["eu", "daily"] }), ["Tags", "eu, daily"]);
});

test("the kind of fit names pooled and joint models, ensembles and refits", () => {
  const fit = (model: object, more: object = {}) =>
    fitOf({ model, operation: "run_dl_job", ...more } as never);
  assert.equal(fit({ model: "lstm", training_params: { ensemble: 3 } }), "per ticker, ensemble of 3");
  assert.equal(
    fit({ model: "xgboost", ensemble: 2, smoothing: { half_life: 1.5 } }),
    "per ticker, ensemble of 2, half-life 1.5",
  );
  assert.equal(fit({ model: "portfolio_lstm" }), "joint");
  assert.equal(
    fit({ model: "ridge", refit_every: 63 }, { operation: "run_ml_job", pooled: {} }),
    "pooled, refitted every 63 dates",
  );
});

test("the title of the tab tells two reports apart, and is text", () => {
  const hostile = { ...JSON.parse(mlText()), tags: ["</title><script>"] };
  const report = reported(JSON.stringify(hostile));
  assert.match(
    documentTitle(report),
    /^ridge · per ticker · tickers 8 · as of 2016-01-14 · learned until 2015-07-30/,
  );
  assert.notEqual(documentTitle(report), documentTitle(reported(dlText())));
  assert.match(page(report), /<title>[^<]*tags &lt;\/title&gt;&lt;script&gt;[^<]*<\/title>/);
});

test("an output without labelled rows says which rows were scored, or that none were", () => {
  const scored = (text: string) => identityOf(reported(text).outputs[0]!).facts[4]!;
  assert.deepEqual(scored(mlText({ isOpen: true, folds: 0 })), ["Scored", "nothing yet"]);
  const [name, span] = scored(mlText({ isOpen: true }));
  assert.equal(name, "Scored, out-of-fold rows");
  assert.match(span, /^2015-\d\d-\d\d to 2015-07-30$/);
});
