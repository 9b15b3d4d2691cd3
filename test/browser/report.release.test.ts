import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type Browser,
  type ContextOptions,
  HANG_MS,
  isScrolledAway,
  judge,
  openBrowser,
  type Page,
} from "./browser.testing.ts";
import { HOSTILE_NAMES, REPORTS, writeReports } from "./report-pages.testing.ts";

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };

let browser: Browser;
let reports: ReturnType<typeof writeReports>;
before(async () => {
  reports = writeReports();
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  reports?.remove();
});

/** A page with everything that it did besides being displayed. */
interface Opened {
  readonly page: Page;
  readonly url: string;
  readonly unwanted: string[];
  readonly close: () => Promise<void>;
}

async function open(name: string, options: ContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: WIDE, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(HANG_MS);
  const url = reports.urls.get(name)!;
  const unwanted: string[] = [];
  page.on("console", (message) => unwanted.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => unwanted.push(String(error)));
  page.on("request", (request) => {
    if (request.url() !== url) unwanted.push(`request: ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    unwanted.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(url);
  return { page, url, unwanted, close: () => context.close() };
}

/** By how many CSS pixels the page is wider than its window. */
function overhang(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - innerWidth");
}

/** Pairs of text and background colours, as computed by the browser. */
async function contrasts(page: Page, selector: string): Promise<number> {
  const [text, ground] = await page.evaluate<[string, string]>(
    `[getComputedStyle(document.querySelector("${selector}")).fill, getComputedStyle(document.querySelector("figure")).backgroundColor]`,
  );
  const [dark, light] = [luminance(text), luminance(ground)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** Relative luminance by WCAG 2.2. */
function luminance(colour: string): number {
  const [red, green, blue] = colour.match(/\d+/g)!.map((part) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

test("displays every report without an error, a request or sideways scrolling: wide, narrow, light, dark and printed", async () => {
  for (const name of Object.keys(REPORTS)) {
    const { page, unwanted, close } = await open(name);
    for (const viewport of [WIDE, NARROW]) {
      await page.setViewportSize(viewport);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        assert.ok((await overhang(page)) <= 0, `${name} is wider than ${viewport.width}`);
      }
    }
    // A page of A4 between its margins.
    await page.setViewportSize({ width: 718, height: 1000 });
    await page.emulateMedia({ media: "print" });
    assert.ok((await overhang(page)) <= 0, `${name} is wider than paper`);
    assert.deepEqual(unwanted, [], name);
    await close();
  }
});

for (const [name, viewport, colorScheme] of [
  ["a classical job", WIDE, "light"],
  ["a classical job", WIDE, "dark"],
  ["a classical job", NARROW, "light"],
  ["a choice among 30 candidates", WIDE, "dark"],
  ["a choice among 30 candidates", NARROW, "light"],
  ["a network job", WIDE, "light"],
  ["two outputs", WIDE, "dark"],
  ["hostile names", WIDE, "light"],
  ["no labels", WIDE, "light"],
] as const) {
  test(`axe finds nothing in a report of ${name}, ${viewport.width} pixels, ${colorScheme}`, async () => {
    const { page, close } = await open(name, { viewport, colorScheme, reducedMotion: "reduce" });
    await page.evaluate(
      'document.querySelectorAll("details").forEach((each, i) => { each.open = i % 3 === 0; })',
    );
    // Text below a bar that stays in sight, or outside the box of a list, has no background that axe can determine.
    await page.evaluate(
      'document.querySelector(".toolbar").style.position = "static"; document.querySelectorAll(".list").forEach((list) => { list.style.maxHeight = "none"; })',
    );
    const { violations, incomplete } = await judge(page);
    assert.deepEqual(
      violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
      [],
    );
    assert.deepEqual(
      incomplete.filter((finding) => !isScrolledAway(finding)),
      [],
    );
    assert.ok((await contrasts(page, ".chart text")) >= 4.5);
    await close();
  });
}

test("every chart is an image named after its finding, and every chart with many numbers has a table of at most 60 rows", async () => {
  const { page, close } = await open("a classical job");
  const charts = await page.evaluate<{ role: string; name: string; told: string }[]>(
    `[...document.querySelectorAll("figure > svg.chart")].map((svg) => ({ role: svg.getAttribute("role"), name: svg.getAttribute("aria-label"), told: svg.parentElement.querySelector("figcaption > p").textContent }))`,
  );
  assert.ok(charts.length >= 20);
  for (const { role, name, told } of charts) {
    assert.equal(role, "img");
    assert.ok(told.startsWith(name), `${name} is not ${told}`);
  }
  const rows = await page.evaluate<number[]>(
    `[...document.querySelectorAll("figure details:not(.texts) table")].map((table) => table.tBodies[0].rows.length)`,
  );
  assert.ok(rows.length >= 15 && Math.max(...rows) === 60);
  await close();
});

test("hostile names are text: no dialog, no script but ours, no element of theirs, and invisible characters as numbers", async () => {
  const { page, unwanted, close } = await open("hostile names");
  const found = await page.evaluate<{
    scripts: number;
    images: number;
    links: string[];
    names: string[];
    text: string;
  }>(
    `({ scripts: document.scripts.length, images: document.images.length, links: [...document.links].map((link) => link.getAttribute("href")), names: [...document.querySelectorAll(".tickers summary")].map((each) => each.textContent), text: document.body.innerHTML })`,
  );
  assert.deepEqual([found.scripts, found.images], [1, 0]);
  for (const link of found.links) assert.match(link, /^#[a-z]+$/);
  assert.equal(found.names.length, HOSTILE_NAMES.length);
  for (const name of [
    "<img src=x onerror=alert(1)>",
    "__proto__",
    "A[U+202E]B[U+200B]C[U+FEFF]",
    "\ud83e\udd84\ud83e\udd84",
  ])
    assert.ok(found.names.includes(name), name);
  assert.doesNotMatch(found.text, /[\u202e\u200b\ufeff]/);
  assert.deepEqual(unwanted, []);
  await close();
});

test("on paper, no card is higher than a page of A4 and bars are drawn", async () => {
  for (const name of ["a classical job", "200 tickers", "200 networks", "a choice among 30 candidates"]) {
    const { page, close } = await open(name, { viewport: { width: 718, height: 1000 } });
    await page.emulateMedia({ media: "print" });
    const highest = await page.evaluate<number>(
      `Math.max(...[...document.querySelectorAll("figure, .answers > div, .chip")].map((card) => card.getBoundingClientRect().height))`,
    );
    assert.ok(highest > 0 && highest < 1_000, `${name}: ${highest} pixels`);
    const bars = await page.evaluate<string[]>(
      `[...document.querySelectorAll("figure path.bar")].map((bar) => getComputedStyle(bar).display).filter((display) => display !== "inline")`,
    );
    assert.deepEqual(bars, []);
    await close();
  }
});

test("the policy stops a script that is not ours", async () => {
  const { page, unwanted, close } = await open("a classical job");
  const ran = await page.evaluate<boolean>(
    `(() => { const script = document.createElement("script"); script.textContent = "globalThis.ran = true"; document.body.append(script); return globalThis.ran === true; })()`,
  );
  assert.equal(ran, false);
  assert.equal(unwanted.length, 1);
  assert.match(unwanted[0]!, /Content Security Policy/);
  await close();
});

const shownTickers = `[...document.querySelectorAll(".tickers tbody")].filter((body) => !body.hidden).map((body) => body.querySelector("summary").textContent)`;

test("tickers can be sorted by every column and by keyboard, with the order announced, and searched", async () => {
  const { page, unwanted, close } = await open("a classical job");
  const names = await page.evaluate<string[]>(shownTickers);
  const forecasts = `[...document.querySelectorAll(".tickers tbody")].map((body) => Number(body.rows[0].cells[1].dataset.v))`;
  const before = await page.evaluate<number[]>(forecasts);
  await page.focus(".tickers th:nth-child(2) button");
  await page.keyboard.press("Enter");
  assert.deepEqual(
    await page.evaluate(forecasts),
    [...before].sort((a, b) => b - a),
  );
  const sorted = `[...document.querySelectorAll(".tickers th[aria-sort]")].map((head) => head.getAttribute("aria-sort"))`;
  assert.deepEqual((await page.evaluate<string[]>(sorted)).slice(0, 3), ["none", "descending", "none"]);
  await page.keyboard.press("Enter");
  assert.deepEqual(
    await page.evaluate(forecasts),
    [...before].sort((a, b) => a - b),
  );
  await page.click(".tickers th:first-child button");
  assert.deepEqual(await page.evaluate(shownTickers), names);
  await page.fill(".search input", "bB");
  assert.deepEqual(await page.evaluate(shownTickers), ["BBB"]);
  assert.equal(await page.textContent(".search [role=status]"), "1 of 8 tickers");
  assert.deepEqual(unwanted, []);
  await close();
});

for (const name of ["200 tickers", "200 networks"]) {
  test(`a report of ${name} is at most 6,000 pixels high on a wide screen and 9,000 on a narrow one`, async () => {
    for (const [viewport, most] of [
      [WIDE, 6_000],
      [NARROW, 9_000],
    ] as const) {
      const { page, close } = await open(name, { viewport });
      const height = await page.evaluate<number>("document.documentElement.scrollHeight");
      assert.ok(height <= most, `${height} pixels at ${viewport.width}`);
      await close();
    }
  });
}

test("200 tickers are a list in a box with its heads in sight, and each has a spark line", async () => {
  const { page, close } = await open("200 tickers");
  assert.equal(await page.evaluate(`document.querySelectorAll(".tickers tbody .spark").length`), 200);
  await page.evaluate(`document.querySelector(".list").scrollTop = 2_000`);
  const [head, box] = await page.evaluate<[number, number]>(
    `["thead th", ""].map((part) => document.querySelector(\`.list \${part}\`.trim()).getBoundingClientRect().top)`,
  );
  assert.ok(Math.abs(head - box) < 3, `heads at ${head}, box at ${box}`);
  await page.fill(".search input", "t19");
  assert.equal(await page.textContent(".search [role=status]"), "10 of 200 tickers");
  await close();
});

test("the tabs of a card show one chart at a time, with and without scripts, and paper shows all", async () => {
  for (const javaScriptEnabled of [true, false]) {
    const { page, close } = await open("a classical job", { javaScriptEnabled });
    const shown = `[...document.querySelectorAll("section[aria-labelledby=intervals] .card:first-of-type .view > figure")].map((view) => view.checkVisibility())`;
    assert.deepEqual(await page.evaluate(shown), [true, false]);
    await page.click("section[aria-labelledby=intervals] .card:first-of-type label:last-of-type");
    assert.deepEqual(await page.evaluate(shown), [false, true]);
    await page.emulateMedia({ media: "print" });
    assert.deepEqual(await page.evaluate(shown), [true, true]);
    await close();
  }
});

test("a ticker's row opens its chart, with and without scripts", async () => {
  for (const javaScriptEnabled of [true, false]) {
    const { page, unwanted, close } = await open("a classical job", { javaScriptEnabled });
    const height = `document.querySelector(".tickers .more .chart").getBoundingClientRect().height`;
    assert.equal(await page.evaluate(height), 0);
    await page.click(".tickers summary");
    assert.equal(await page.evaluate(height), 200);
    assert.equal(await page.evaluate(`document.querySelector(".search").hidden`), !javaScriptEnabled);
    assert.deepEqual(unwanted, []);
    await close();
  }
});

const shownTitles = `[...document.querySelectorAll("section[aria-labelledby=verdict] figure, section[aria-labelledby=skill] figure")].filter((figure) => figure.checkVisibility()).map((figure) => figure.querySelector("h3").firstChild.textContent.trim())`;

test("one switch chooses between RankIC and IC, by pointer and by keyboard, with and without scripts", async () => {
  for (const javaScriptEnabled of [true, false]) {
    const { page, unwanted, close } = await open("a classical job", { javaScriptEnabled });
    const ics = await page.evaluate<string[]>(shownTitles);
    assert.ok(ics.length >= 3 && ics.every((title) => !title.includes("RankIC")), ics.join());
    await page.click(".switch label:has(#show-rank)");
    const ranks = await page.evaluate<string[]>(shownTitles);
    assert.deepEqual(
      ics,
      ranks.map((title) => title.replace("RankIC", "IC")),
    );
    await page.focus("#show-rank");
    await page.keyboard.press("ArrowRight");
    assert.deepEqual(await page.evaluate<string[]>(shownTitles), ics);
    assert.deepEqual(unwanted, []);
    await close();
  }
});

test("a switch chooses between score rows and out-of-fold rows, with and without scripts", async () => {
  for (const javaScriptEnabled of [true, false]) {
    const { page, unwanted, close } = await open("a classical job", { javaScriptEnabled });
    const judged = `[...document.querySelectorAll(".facts")].filter((facts) => facts.checkVisibility()).map((facts) => /judged on [\\d,]+ ([a-z-]+) rows/.exec(facts.textContent)[1])`;
    await page.click(".switch label:has(#show-folds)");
    assert.deepEqual(await page.evaluate(judged), ["out-of-fold"]);
    await page.click(".switch label:has(#show-score)");
    assert.deepEqual(await page.evaluate(judged), ["score"]);
    assert.ok((await overhang(page)) <= 0);
    assert.deepEqual(unwanted, []);
    await close();
  }
});

test("the list of sections stays in sight and marks the section that is shown", async () => {
  for (const viewport of [WIDE, NARROW]) {
    const { page, close } = await open("a classical job", { viewport, reducedMotion: "reduce" });
    const marked = `[...document.querySelectorAll("nav [aria-current]")].map((link) => link.getAttribute("href"))`;
    assert.deepEqual(await page.evaluate(marked), ["#verdict"]);
    for (const id of ["intervals", "skill", "origin"]) {
      await page.evaluate(`document.getElementById("${id}").scrollIntoView()`);
      await page.waitForSelector(`nav a[href="#${id}"][aria-current]`);
      assert.deepEqual(await page.evaluate(marked), [`#${id}`]);
      const { top, left, right } = await page.evaluate<Record<string, number>>(
        `(({ top, left, right }) => ({ top, left, right }))(document.querySelector("nav [aria-current]").getBoundingClientRect())`,
      );
      assert.ok(top! >= 0 && top! < 60 && left! >= 0 && right! <= viewport.width, `${id} at ${left}, ${top}`);
    }
    await close();
  }
});

test("the first screen has the answers and, below them, the evidence beside the sum of the IC", async () => {
  const { page, close } = await open("a classical job");
  const boxesOf = (selector: string) =>
    page.evaluate<Record<"top" | "bottom" | "left" | "right", number>[]>(
      `[...document.querySelectorAll("${selector}")].filter((each) => each.checkVisibility()).map((each) => (({ top, bottom, left, right }) => ({ top, bottom, left, right }))(each.getBoundingClientRect()))`,
    );
  const answers = await boxesOf(".answers > div");
  const chips = await boxesOf(".chips li");
  const [chart, ...others] = await boxesOf(".evidence figure");
  assert.deepEqual([answers.length, chips.length, others.length], [5, 3, 0]);
  for (const { bottom } of [...answers, ...chips]) assert.ok(bottom <= WIDE.height);
  for (const { right, top } of chips) assert.ok(right <= chart!.left && top >= chart!.top - 1);
  await close();
});

test("nothing moves when a chart shows its values", async () => {
  for (const viewport of [WIDE, NARROW]) {
    const { page, close } = await open("a network job", { viewport });
    const boxes = `[...document.querySelectorAll("figure, section, .chart, .small > div")].map((each) => (({ x, y, width, height }) => [x, y + scrollY, width, height])(each.getBoundingClientRect()))`;
    const before = await page.evaluate(boxes);
    await page.evaluate(
      `document.querySelectorAll("svg[data-x]").forEach((chart) => { const { left, width } = chart.getBoundingClientRect(); chart.dispatchEvent(new PointerEvent("pointermove", { clientX: left + width / 3 })); })`,
    );
    assert.ok((await page.evaluate<number>(`document.querySelectorAll(".readout").length`)) > 4);
    assert.deepEqual(await page.evaluate(boxes), before);
    const outside = await page.evaluate<string[]>(
      `[...document.querySelectorAll(".readout")].filter((each) => { const [own, parent] = [each, each.parentElement].map((one) => one.getBoundingClientRect()); return own.width > 0 && (own.left < parent.left || own.right > parent.right || own.top < parent.top || own.bottom > parent.bottom); }).map((each) => each.textContent)`,
    );
    assert.deepEqual(outside, []);
    await close();
  }
});

test("a chart shows its values under the pointer and by arrow keys", async () => {
  const { page, close } = await open("a classical job");
  const chart = "figure.of-ic:visible svg[data-x]";
  await page.hover(chart);
  const told = (await page.textContent(".readout"))!;
  assert.match(told, /^\d{4}-\d\d-\d\d: cumulative IC about \u2212?\d+\.\d+$/);
  await page.focus(chart);
  await page.keyboard.press("ArrowRight");
  const next = (await page.textContent(".readout"))!;
  assert.ok(next.slice(0, 10) > told.slice(0, 10), `${next} after ${told}`);
  await close();
});
