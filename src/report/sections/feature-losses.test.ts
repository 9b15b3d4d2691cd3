import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputImportance } from "../../contract/output/metrics-schemas.ts";
import { featureLossPanels } from "./feature-losses.ts";

const IMPORTANCE: OutputImportance = {
  form: "cross_section",
  dates: 150,
  figure: 0.041,
  quantile: 1.73,
  groups: [
    { features: ["mom_5", "mom_10", "<b>"], loss: 0.0301, t: 3.5 },
    { features: ["size"], loss: 0.001, t: 0.4 },
    { features: ["season"], loss: 0, t: null },
  ],
};

test("the panel names what the order would lose without each group", () => {
  const [panel] = featureLossPanels(IMPORTANCE);
  assert.equal(
    panel!.finding,
    "Without mom_5, mom_10 and 1 more, the mean RankIC falls from +0.041 to +0.011 (90\u202f% band of the loss +0.015 to +0.045). 1 of 3 groups of features has a band above 0, which a useless group has with a probability of 5\u202f%.",
  );
  assert.match(panel!.numbers!, /mom_5, mom_10, &lt;b/);
});

test("groups that lower nothing are said to", () => {
  const groups = IMPORTANCE.groups.map((group) => ({ ...group, loss: -0.001, t: -0.5 }));
  const [panel] = featureLossPanels({ ...IMPORTANCE, groups });
  assert.equal(panel!.finding, "None of 3 groups of features lowers the mean RankIC when it is shuffled.");
});

test("few dates are not judged, and an output without importances has no panel", () => {
  const [panel] = featureLossPanels({ ...IMPORTANCE, dates: 20, quantile: null });
  assert.match(
    panel!.finding,
    /^The importance of features is not judged: 20 out-of-fold dates, 30 needed\.$/,
  );
  assert.deepEqual(featureLossPanels(undefined), []);
});

test("a panel of one group, of none, and of hostile names is readable", () => {
  const findingOf = (groups: OutputImportance["groups"]) =>
    featureLossPanels({ ...IMPORTANCE, groups })[0]!.finding;
  const first = IMPORTANCE.groups[0]!;
  assert.match(findingOf([first]), /The only group of features has a band above 0, which/);
  assert.match(findingOf([{ ...first, t: 0.5 }]), /The only group of features has no band above 0, which/);
  assert.equal(findingOf([]), "The output names no features.");
  const hostile = { ...first, features: ["x".repeat(100_000), "\u202e<script>"] };
  assert.ok(findingOf([hostile]).length < 400);
  assert.match(findingOf([{ ...first, loss: null, t: null }, first]), /^Without mom_5/);
});
