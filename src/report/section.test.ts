import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, endsOf, type ReportPanel, spansOf } from "./section.ts";

const plain = (count: number) => Array.from({ length: count }, () => ({ isWide: false }));

test("every row of panels is full: thirds, then halves", () => {
  const shares = { third: 2, half: 3, wide: 6 };
  for (let count = 1; count < 30; count++) {
    let filled = 0;
    for (const span of spansOf(plain(count))) {
      const share = shares[span as keyof typeof shares];
      assert.ok((filled % 6) + share <= 6, `${count} panels`);
      filled += share;
    }
    assert.equal(filled % 6, 0, `${count} panels`);
  }
});

test("the tabs of a card share a place, and so do both measures of order", () => {
  const panel = (title: string, more: Partial<ReportPanel> = {}): ReportPanel => ({
    title,
    sentence: "",
    ...more,
  });
  const tab = (card: string) => ({ tab: { card, label: "" } });
  const cells = cellsOf([
    panel("a", { measure: "rank", ...tab("x") }),
    panel("b", { measure: "ic", ...tab("x") }),
    panel("c", tab("x")),
    panel("d", tab("y")),
    panel("e", { measure: "rank" }),
    panel("f", { measure: "ic" }),
    panel("g", { isWide: true }),
  ]);
  assert.deepEqual(
    cells.map(({ panels, isWide }) => [panels.map(({ title }) => title).join(""), isWide]),
    [
      ["abc", false],
      ["d", false],
      ["ef", false],
      ["g", true],
    ],
  );
});

test("from 50 rows on, a list has its ends and says how many rows are between them", () => {
  const rows = (count: number) => Array.from({ length: count }, (_, i) => i);
  assert.deepEqual(endsOf(rows(49)), { shown: rows(49), gap: "" });
  const { shown, gap } = endsOf(rows(50));
  assert.deepEqual([shown.length, shown[9], shown[10], shown[11], gap], [21, 9, null, 40, "30 more"]);
});
