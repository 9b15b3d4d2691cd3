import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { EXAMPLE_CONFIGS } from "../../src/contract/config/example-configs.ts";
import { eventuallyTrue } from "../service/eventually.testing.ts";
import {
  control,
  NARROW,
  open,
  operations,
  sentText,
  service,
  shownOperation,
  unfold,
} from "./console-forms.testing.ts";

test("an example config that is chosen becomes the config, and one click brings back what it has replaced", async () => {
  const { page, unwanted, close } = await open("#/job?feature_url=x&operation=run_dl_job");
  const choose = (name: string) => page.selectOption("text=Start from an example config", name);
  const sent = async () => JSON.parse(await sentText(page)) as Record<string, unknown>;
  const configOf = (name: string) => EXAMPLE_CONFIGS.find((example) => example.name === name)!.config;
  await page.click("text=Regressors (run_ml_job)");
  for (const name of ["pooled-ridge", "ridge"]) {
    await choose(name);
    await page.waitForSelector(`text=The form now has the config ${name}.`);
    assert.deepEqual(await sent(), { feature_url: "x", config: configOf(name) });
  }
  await page.selectOption(control("model"), "lasso");
  const edited = await sent();
  await choose("pooled-ridge");
  assert.deepEqual((await sent()).config, configOf("pooled-ridge"));
  await unfold(page);
  await page.fill(control("feature_url"), "y");
  await page.click("button:text-is('Undo')");
  assert.deepEqual(await sent(), { ...edited, feature_url: "y" });
  await page.fill("textarea.raw", "{");
  await choose("ridge");
  await page.waitForSelector("text=Fix the JSON first.");
  assert.equal(await sentText(page), "{");
  assert.deepEqual(unwanted, []);
  await close();
});

test("fields and JSON stay in sync, and numbers keep their spelling", async () => {
  const { page, unwanted, close } = await open("#/job", { viewport: NARROW });
  await unfold(page);
  await page.fill(control("feature_url"), "https://a/b");
  await page.selectOption(control("model"), "ridge");
  await page.fill(control("model_params"), '{"alpha": 1.0}');
  await page.fill(control("n_splits"), "2");
  await page.click("text=Include prediction intervals");
  await page.fill(control("alpha"), "0.20");
  assert.match(await sentText(page), /"alpha": 1\.0\b[\s\S]*"n_splits": 2,[\s\S]*"alpha": 0\.20\b/);
  assert.deepEqual(JSON.parse(await sentText(page)), {
    feature_url: "https://a/b",
    config: {
      "ML params": { model: "ridge", model_params: { alpha: 1 }, n_splits: 2, intervals: { alpha: 0.2 } },
    },
  });
  await page.click(".parameters summary");
  await page.click("button[aria-label='Add fit_intercept']");
  assert.match(await page.inputValue(control("model_params")), /"fit_intercept": true/);

  const typed =
    '{"config": {"ML params": {"model": "RF", "n_splits": 3.0e0, "model_params": {"max_features": 1.0}}}}';
  await page.fill("textarea.raw", typed);
  assert.equal(await page.inputValue(control("model")), "RF");
  assert.equal(await page.inputValue(control("n_splits")), "3.0e0");
  assert.equal(await sentText(page), typed);
  assert.equal(await page.evaluate("document.querySelectorAll('.parameters tbody tr').length"), 18);

  await page.fill("textarea.raw", '{"config": NaN}');
  assert.match((await page.textContent(".fault:below(textarea.raw)"))!, /NaN is not JSON/);
  await page.waitForSelector("text=The JSON has an error.");
  await page.click(".payload button[type=submit]");
  await page.waitForSelector(".refusal >> text=The JSON has an error.");
  assert.equal(await page.evaluate("document.querySelector('.fields').disabled"), true);
  assert.deepEqual(unwanted, []);
  await close();
});

test("candidates are entries with fields, which say how many fits they take", async () => {
  const { page, unwanted, close } = await open("#/job");
  await unfold(page);
  await page.selectOption(control("model"), "ridge");
  await page.click("text=Include choice among candidates");
  await page.click("button:text-is('Add an entry')");
  await page.fill(control("grid"), '{"alpha": [0.1, 1.0, 10]}');
  await page.waitForSelector("text=4 candidates with the config itself, 124 fits per ticker.");
  await page.click("button:text-is('Add an entry')");
  await page.selectOption(control("model", 2), "lasso");
  await page.fill(control("grid", 1), '{"alpha": [');
  await page.waitForSelector("text=line 1, column 12");
  await page.fill(control("grid", 1), '{"alpah": [1]}');
  const { choice } = JSON.parse(await sentText(page)).config["ML params"];
  assert.deepEqual(choice, {
    candidates: [{ grid: { alpha: [0.1, 1, 10] } }, { model: "lasso", grid: { alpah: [1] } }],
  });
  assert.match(await sentText(page), /"alpha": \[\s*0\.1,\s*1\.0,\s*10\s*\]/);
  await page.fill(control("feature_url"), "https://a/b");
  await page.click(".payload button[type=submit]");
  await page.waitForSelector(
    "fieldset.group:has(> legend:text-is('Entry 2')) .fault >> text=did you mean alpha?",
  );
  await page.click("button:text-is('Remove entry 2')");
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Add an entry");
  await page.click("button:text-is('Remove entry 1')");
  assert.deepEqual(JSON.parse(await sentText(page)).config["ML params"], { model: "ridge", choice: {} });
  assert.deepEqual(unwanted, []);
  await close();
});

test("the other job keeps the inputs, and shows the entries of its network", async () => {
  const { page, unwanted, close } = await open("#/job?feature_url=f&data_extractor_url=d");
  await page.click("text=Neural networks");
  await unfold(page);
  await page.selectOption(control("current option"), "cnn");
  await page.fill(control("filters"), "8, 16");
  assert.deepEqual(JSON.parse(await sentText(page)), {
    feature_url: "f",
    data_extractor_url: "d",
    config: {
      "NN params": {
        "Dot prediction": { "current option": "cnn", models_params: { cnn: { filters: [8, 16] } } },
      },
    },
  });
  assert.equal(
    await page.evaluate(
      "[...document.querySelectorAll('fieldset.group')].filter((each) => each.checkVisibility() && /lstm|mlp/.test(each.querySelector('legend').textContent)).length",
    ),
    0,
  );
  // A fault of a hidden entry is shown at the surrounding section.
  await page.fill(
    "textarea.raw",
    (await sentText(page)).replace('"cnn": {', '"lstm": {"dropout": 5}, "cnn": {'),
  );
  await page.click(".payload button[type=submit]");
  const section = "fieldset.group:has(> legend code:text-is('models_params')) > .fault";
  await page.waitForSelector(`${section} >> text=must be < 1, got 5`);
  await page.click("text=Regressors (run_ml_job)");
  assert.equal(await page.inputValue(control("feature_url")), "f");
  assert.deepEqual(unwanted, []);
  await close();
});

test("faults from the service are shown at their fields, and the first of them has the focus", async () => {
  const { page, unwanted, close } = await open("#/job?feature_url=https://a/b&data_extractor_url=");
  await page.selectOption(control("model"), "ridge");
  await page.fill(control("model_params"), '{"alpah": 1}');
  await page.click("text=More settings");
  await page.fill(control("n_splits"), "0");
  await page.focus(control("n_splits"));
  await page.keyboard.press("Enter");
  await page.waitForSelector(".refusal:not(:empty)");
  const faults = await page.evaluate<Record<string, string>>(
    `Object.fromEntries([...document.querySelectorAll(".fields [aria-invalid]")].map((input) => {
      const said = input.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id));
      return [input.closest(".field").querySelector("label code").textContent, said.find((each) => each.matches(".fault")).textContent];
    }))`,
  );
  assert.deepEqual(Object.keys(faults), ["model_params", "n_splits", "feature_url", "data_extractor_url"]);
  assert.match(faults.model_params!, /no parameter called "alpah" \(did you mean alpha\?\)/);
  assert.match(faults.n_splits!, /must be >= 1, got 0/);
  assert.equal(
    await page.evaluate("document.activeElement.closest('.field').querySelector('code').textContent"),
    "model_params",
  );
  assert.ok(await page.evaluate("document.querySelector('.fields > .more').open"), "folded fields are shown");
  assert.deepEqual(unwanted, []);
  await close();
});

test("a double click starts one operation, even if the first answer is lost, and so does the curl line of the form, run by a shell", async () => {
  const before = (await operations()).length;
  const inputs = new URLSearchParams({
    feature_url: `${service.url}/data/feature_engine_form.json`,
    data_extractor_url: `${service.url}/data/data_extractor_form.json`,
  });
  const { page, unwanted, close } = await open(`#/job?${inputs}`);
  await page.selectOption(control("model"), "ridge");
  await page.click("text=More settings");
  await page.fill(control("n_splits"), "2");
  const hostile = `it's "$(touch x)" \`y\` \\ !! \u202e\u200b`;
  const raw = await sentText(page);
  // Another service's section may have any text, and is ignored.
  await page.fill(
    "textarea.raw",
    raw.replace(/"config": \{/, `"config": {"other": {"note": ${JSON.stringify(hostile)}},`),
  );
  const command = (await page.textContent(".payload .command pre"))!;
  // Undone: one key.
  for (const text of ["{}", await sentText(page)]) await page.fill("textarea.raw", text);
  assert.doesNotMatch(command, /[\u202e\u200b]/);
  await page.route(
    "**/v1/run_ml_job",
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
  await page.evaluate(
    "(() => { const send = document.querySelector('form.payload button[type=submit]'); send.click(); send.click(); })()",
  );
  const id = await shownOperation(page);
  const { stdout } = await promisify(execFile)("bash", ["-c", command], { cwd: service.folder });
  assert.equal((JSON.parse(stdout) as { id: string }).id, id);
  assert.equal((await operations()).length, before + 1);
  await eventuallyTrue("the job succeeds", async () => (await operations())[0]!.status === "Succeeded");
  assert.deepEqual(unwanted, []);
  await close();
});

test("an audit and a replay are filled in from an output, with the config's bytes, and submitted", async () => {
  const [job] = await operations();
  const { page, unwanted, close } = await open(`#/audit?operation=${job!.id}`);
  const submit = async (operation: string) => {
    await page.click(".payload button[type=submit]");
    const id = await shownOperation(page);
    assert.equal((await operations()).find((one) => one.id === id)!.operation, operation);
    await fetch(`${service.url}/v1/operations/${id}/cancel`, { method: "POST" });
  };
  await page.waitForSelector(".set input:checked");
  const config = JSON.parse(await page.inputValue(control("config"))) as Record<string, unknown>;
  assert.deepEqual(config["ML params"], { model: "ridge", n_splits: 2 });
  await unfold(page);
  await page.click("text=foresight: does a feature know its label?");
  await page.selectOption(control("quick"), "true");
  await page.fill(control("accept"), "mom_1\nmom, 2");
  const { checks, quick, accept } = JSON.parse(await sentText(page)) as Record<string, unknown>;
  assert.deepEqual([checks, quick, accept], [["foresight"], true, ["mom_1", "mom, 2"]]);
  await submit("audit");
  await page.goto(`${service.url}/#/replay?operation=${job!.id}`);
  await page.waitForSelector(control("output_url"));
  assert.match(
    await page.inputValue(control("output_url")),
    new RegExp(`/data/ml_engine_${job!.id}\\.json$`),
  );
  await submit("replay");
  assert.deepEqual(unwanted, []);
  await close();
});
