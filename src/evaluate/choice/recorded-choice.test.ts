import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDay } from "../../contract/market/dates.ts";
import { CHOICE_METHOD } from "../../contract/output/choice.ts";
import { testedTickers } from "./choice.testing.ts";
import { choiceFaults, choosePrequentially, type RecordedChoice } from "./prequential.ts";

const TICKERS = testedTickers(3, 200, [0, 0.3, 0.29]);
const FOLD_DATES = TICKERS.flatMap(({ folds }) => folds.map(({ first }) => formatDay(first)));

/** As an output records it. */
function recorded(): RecordedChoice {
  const { series, changes, members, best } = choosePrequentially(TICKERS, 3, {
    rule: "mean",
    measure: "squared_error",
  });
  const choice = {
    rule: "mean" as const,
    members: [...members],
    best,
    method: CHOICE_METHOD,
    changes: changes.map((change) => ({ date: formatDay(change.day), members: [...change.members] })),
    losses: {
      reference: series.reference,
      dates: Array.from(series.days, formatDay),
      excess: series.excess.map((own) => Array.from(own, (value) => (Number.isNaN(value) ? null : value))),
    },
  };
  return JSON.parse(JSON.stringify(choice));
}

test("the members of a recorded choice follow from its losses", () => {
  const choice = recorded();
  assert.ok(choice.changes.length > 2);
  assert.deepEqual(choiceFaults(choice, FOLD_DATES), []);
});

test("changed members, a changed best, changed losses and a removed change are faults", () => {
  const choice = recorded();
  const { members, changes, losses } = choice;
  const faulty = (change: Partial<RecordedChoice>) =>
    choiceFaults({ ...choice, ...change }, FOLD_DATES).map(({ at }) => at);
  assert.deepEqual(choiceFaults({ ...choice, members: [0] }), [
    { at: "choice.members", recorded: "0", recomputed: members.join(", ") },
  ]);
  assert.deepEqual(faulty({ best: 0 }), ["choice.best"]);
  const second = { ...changes[1]!, members: [0] };
  assert.equal(faulty({ changes: changes.with(1, second) })[0], `choice.changes[1] (${second.date})`);
  assert.ok(faulty({ changes: changes.toSpliced(1, 1) }).includes(`choice.changes (${second.date})`));
  const excess = losses.excess.with(
    0,
    losses.excess[0]!.map((value) => value! - 1),
  );
  assert.deepEqual(faulty({ losses: { ...losses, excess } }).slice(0, 2), ["choice.members", "choice.best"]);
});
