/** The page `/docs` in a real browser: Swagger UI under a strict policy. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Listening, listen } from "../../src/service/http/listening.testing.ts";
import { type Browser, HANG_MS, openBrowser } from "./browser.testing.ts";

let service: Listening;
let browser: Browser;
before(async () => {
  service = await listen();
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
  await service.close();
});

for (const width of [1280, 390]) {
  test(`a reader sends a request from the page, ${width} pixels wide, and the page asks no other host`, {
    timeout: HANG_MS,
  }, async () => {
    const context = await browser.newContext({ viewport: { width, height: 900 } });
    const page = await context.newPage();
    const faults: string[] = [];
    const hosts = new Set<string>();
    page.on("console", (message) => void (message.type() === "error" && faults.push(message.text())));
    page.on("pageerror", (error) => void faults.push(error.message));
    page.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      if (protocol !== "data:") hosts.add(origin);
    });
    await page.goto(`${service.origin}/docs`);
    const queue = "#operations-Operations-get_queue";
    await page.click(`${queue} .opblock-summary-control`);
    await page.click(`${queue} .try-out__btn`);
    await page.click(`${queue} .execute`);
    await page.waitForSelector(`${queue} .live-responses-table .response`);
    assert.match(
      (await page.textContent(`${queue} .live-responses-table .response .response-col_status`)) ?? "",
      /^200/,
    );
    await page.click(".info details summary");
    assert.match((await page.textContent(".info details[open] pre")) ?? "", /curl -sS/);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), width);
    assert.deepEqual(faults, []);
    assert.deepEqual([...hosts], [service.origin]);
    await context.close();
  });
}
