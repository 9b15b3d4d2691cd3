import assert from "node:assert/strict";
import { test } from "node:test";
import { isScrolledAway, judge } from "./browser.testing.ts";
import { BLOBS, control, NARROW, open, unfold, WIDE } from "./console-forms.testing.ts";

/** What axe found, and what it could not decide. */
function findings({ violations, incomplete }: Awaited<ReturnType<typeof judge>>): [string, string[]][] {
  return [...violations, ...incomplete.filter((finding) => !isScrolledAway(finding))].map(({ id, nodes }) => [
    id,
    nodes.map(({ html }) => html),
  ]);
}

for (const [address, prepare] of [
  ["", "as it is"],
  ["#/job?feature_url=x", "refused"],
  ["#/job?operation=run_dl_job", "as it is"],
  ["#/upload", "with a file"],
  ["#/audit", "as it is"],
  ["#/replay", "as it is"],
] as const) {
  test(`${address} ${prepare}: axe finds nothing, and nothing scrolls sideways, wide and narrow, light and dark`, async () => {
    for (const [viewport, colorScheme] of [
      [WIDE, "light"],
      [NARROW, "dark"],
    ] as const) {
      const { page, unwanted, close } = await open(address, { viewport, colorScheme });
      if (prepare === "refused") {
        await unfold(page);
        await page.selectOption(control("model"), "ridge");
        await page.click("text=Include choice among candidates");
        await page.click("button:text-is('Add an entry')");
        await page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })");
        await page.click(".payload button[type=submit]");
        await page.waitForSelector(".payload .refusal:not(:empty)");
      }
      if (prepare === "with a file") await page.setInputFiles(".upload-blobs input[type=file]", [BLOBS[0]!]);
      assert.deepEqual(findings(await judge(page)), []);
      assert.ok((await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")) <= 0);
      assert.deepEqual(unwanted, []);
      await close();
    }
  });
}
