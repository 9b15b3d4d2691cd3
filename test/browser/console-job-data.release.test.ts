/** The first steps in the console: the example data, and the choice of stored data for a job. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventuallyTrue } from "../service/eventually.testing.ts";
import { open, operations, sentText, service, shownOperation } from "./console-forms.testing.ts";

async function put(name: string, body = "[]"): Promise<void> {
  const { status } = await fetch(`${service.url}/data/${name}`, { method: "PUT", body });
  assert.ok(status === 201 || status === 200);
}

test("an empty console runs a job on the example data with one button", async () => {
  const { page, unwanted, close } = await open("");
  await page.click("button:text-is('Run a job on example data')");
  const id = await shownOperation(page);
  await eventuallyTrue("the job succeeds", async () => (await operations())[0]!.status === "Succeeded");
  assert.deepEqual(
    (await operations()).map((one) => one.id),
    [id],
  );
  assert.deepEqual(unwanted, []);
  await close();
});

test("a job takes a stored set, and a set of the form's URLs is marked", async () => {
  const { page, unwanted, close } = await open("#/job");
  const urls = (id: string) => {
    const format = id === "form" ? "json" : "parquet";
    return {
      feature_url: `${service.url}/data/feature_engine_${id}.${format}`,
      data_extractor_url: `${service.url}/data/data_extractor_${id}.${format}`,
    };
  };
  const marked = () =>
    page.evaluate<string | undefined>("document.querySelector('.set input:checked')?.value");
  const sets = await page.evaluate<string[]>(
    "[...document.querySelectorAll('.set input')].map(({ value }) => value)",
  );
  assert.deepEqual(sets, ["sp500", "form"], "the newest first");
  assert.equal(await marked(), undefined);
  await page.click(".set:has-text('form')");
  assert.deepEqual(JSON.parse(await sentText(page)), urls("form"));
  await page.fill("textarea.raw", JSON.stringify(urls("sp500")));
  assert.equal(await marked(), "sp500");
  await page.click("text=Neural networks");
  assert.equal(await marked(), "sp500", "the other job keeps the data");
  await page.fill("textarea.raw", '{"feature_url":');
  await page.waitForSelector("text=Fix it, then choose the data.");
  assert.equal(await page.evaluate("document.querySelectorAll('.set input:not(:disabled)').length"), 0);
  assert.equal(await marked(), "sp500");
  assert.equal(await sentText(page), '{"feature_url":');
  assert.deepEqual(unwanted, []);
  await close();
});

test("a job without data is not sent, and a fault goes when an example config settles it", async () => {
  const before = (await operations()).length;
  const { page, unwanted, close } = await open("#/job");
  const submit = ".payload button[type=submit]";
  const faults = () =>
    page.evaluate<string[]>(
      "[...document.querySelectorAll('p.fault')].filter((each) => each.checkVisibility()).map((each) => each.innerText)",
    );
  await page.click(submit);
  assert.deepEqual(await faults(), ["Choose data first."]);
  assert.equal(await page.evaluate("document.activeElement.innerText"), "Choose data first.");
  await page.click(".set:has-text('form')");
  assert.deepEqual(await faults(), []);
  await page.click(submit);
  await page.waitForSelector(".refusal:not(:empty)");
  assert.deepEqual(await faults(), ["config: is required"]);
  await page.selectOption("text=Start from an example config", "ridge");
  assert.deepEqual(await faults(), []);
  assert.equal(await page.textContent(".payload .refusal"), "");
  assert.equal((await operations()).length, before);
  assert.deepEqual(unwanted, []);
  await close();
});

test("hostile and many blobs: five sets are shown, older ones are folded, and half a set is in no list", async () => {
  const first = (await operations())[0]!.id;
  for (let i = 0; i < 7; i++)
    for (const kind of ["feature_engine", "data_extractor"]) await put(`${kind}_many-${i}.json`);
  await put(`feature_engine_${"x".repeat(64)}.json`);
  await put(`data_extractor_${"x".repeat(64)}.json`);
  await put("feature_engine_alone.json");
  const { page, unwanted, close } = await open(`#/job?again=${first}`);
  await page.waitForSelector("text=5 older sets");
  assert.ok(
    await page.evaluate("document.querySelector('.set input:checked').closest('details').open"),
    "the older set that the form has is shown",
  );
  assert.equal(
    await page.evaluate(
      "[...document.querySelectorAll('.set input')].some(({ value }) => value === 'alone')",
    ),
    false,
  );
  assert.deepEqual(unwanted, []);
  await close();
});
