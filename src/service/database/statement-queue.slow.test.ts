import assert from "node:assert/strict";
import { test } from "node:test";
import { inScope } from "../request-scope.ts";
import { MAX_WAITING_OF_CALLER, StatementQueue } from "./statement-queue.ts";

test("statements run in order, each after the end of the one before", async () => {
  const turns = new StatementQueue({ atOnce: 1 });
  const seen: string[] = [];
  const body = (name: string) => async () => {
    seen.push(`${name} begins`);
    await Promise.resolve();
    seen.push(`${name} ends`);
  };
  await Promise.all(["a", "b", "c"].map((name) => turns.run(body(name))));
  assert.deepEqual(seen, ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

test("the event loop turns between two statements", async () => {
  const turns = new StatementQueue({ atOnce: 1 });
  const seen: string[] = [];
  const first = turns.run(async () => {
    setImmediate(() => seen.push("something else"));
    seen.push("first");
  });
  const second = turns.run(async () => seen.push("second"));
  await Promise.all([first, second]);
  assert.deepEqual(seen, ["first", "something else", "second"]);
});

test("dozens of turns of the event loop pass between two statements, so that it accepts dozens of connections", async (t) => {
  t.mock.method(performance, "now", () => 1_000);
  const queue = new StatementQueue({ atOnce: 1 });
  let [turns, isOver] = [0, false];
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  const first = queue.run(async () => void setImmediate(count));
  await Promise.all([first, queue.run(async () => undefined)]);
  isOver = true;
  assert.ok(turns >= 31, `${turns} turns`);
});

test("after a turn of the event loop that took long, more than one statement runs before the next", async (t) => {
  let now = 1_000;
  t.mock.method(performance, "now", () => now);
  const queue = new StatementQueue({ atOnce: 1 });
  const seen: string[] = [];
  const first = queue.run(async () => {
    // What many connections send meanwhile.
    setImmediate(() => {
      now += 30;
    });
  });
  const others = ["a", "b", "c"].map((name) =>
    queue.run(async () => {
      if (name === "a") setImmediate(() => seen.push("something else"));
      seen.push(name);
      now += 20;
    }),
  );
  await Promise.all([first, ...others]);
  assert.deepEqual(seen, ["a", "b", "something else", "c"]);
});

test("a failed statement fails its own caller alone", async () => {
  const turns = new StatementQueue({ atOnce: 1 });
  const failing = turns.run(async () => {
    throw new Error("no");
  });
  const next = turns.run(async () => "yes");
  await assert.rejects(failing, /^Error: no$/);
  assert.equal(await next, "yes");
});

/** Runs a statement of a caller that notes its name. */
function noting(queue: StatementQueue, seen: string[]) {
  return (lane: string, name: string, signal?: AbortSignal) =>
    inScope({ lane, signal }, () => queue.run(async () => void seen.push(name)));
}

test("a statement of a caller begins before the 500 of another one that wait", async () => {
  const queue = new StatementQueue({ atOnce: 1 });
  const seen: string[] = [];
  const run = noting(queue, seen);
  const many = Array.from({ length: 500 }, (_, nth) => run("a", `a${nth}`));
  await run("b", "b");
  assert.deepEqual(seen, ["a0", "a1", "b"]);
  await Promise.all(many);
});

test("the service itself has every second turn, and callers have the others", async () => {
  const queue = new StatementQueue({ atOnce: 1 });
  const seen: string[] = [];
  const run = noting(queue, seen);
  const lanes = ["a", "b", "a", "b", "a", "b"];
  const all = [run("a", "first"), ...lanes.map((lane) => run(lane, lane))];
  for (let nth = 0; nth < 4; nth++) all.push(queue.run(async () => void seen.push("service")));
  await Promise.all(all);
  const turns = ["service", "a", "service", "b", "service", "a", "service", "b", "a", "b"];
  assert.deepEqual(seen.filter((name) => name !== "first").join(), turns.join());
});

test("a statement whose request goes while it waits never begins, and leaves its place", async () => {
  const queue = new StatementQueue({ atOnce: 1 });
  const seen: string[] = [];
  const run = noting(queue, seen);
  const request = new AbortController();
  const first = run("a", "first");
  const left = run("a", "left", request.signal);
  request.abort();
  await assert.rejects(left, { code: "canceled" });
  await assert.rejects(run("a", "late", request.signal), { code: "canceled" });
  await Promise.all([first, run("a", "last", new AbortController().signal)]);
  assert.deepEqual(seen, ["first", "last"]);
});

test("a statement that has begun runs to its end, though its request goes", async () => {
  const queue = new StatementQueue({ atOnce: 1 });
  const request = new AbortController();
  const begun = Promise.withResolvers<void>();
  const running = inScope({ lane: "a", signal: request.signal }, () =>
    queue.run(async () => {
      begun.resolve();
      await new Promise(setImmediate);
      return "done";
    }),
  );
  await begun.promise;
  request.abort();
  assert.equal(await running, "done");
});

test("a caller with too many waiting statements is refused, and other callers are not", async () => {
  const queue = new StatementQueue({ atOnce: 1 });
  const run = noting(queue, []);
  const all = Array.from({ length: MAX_WAITING_OF_CALLER + 1 }, () => run("a", "a"));
  await assert.rejects(run("a", "one more"), { code: "rate_limited" });
  await Promise.all([...all, run("b", "b")]);
});

test("as many statements run at the same time as may, and one that waits too long fails", async () => {
  const queue = new StatementQueue({ atOnce: 2, patience: 1 });
  const free = Promise.withResolvers<void>();
  const running = [queue.run(() => free.promise), queue.run(() => free.promise)];
  await assert.rejects(
    queue.run(async () => undefined),
    { code: "unavailable" },
  );
  free.resolve();
  await Promise.all(running);
  // Room for the next statement comes some turns of the event loop later.
  for (let turn = 0; turn < 40; turn++) await new Promise(setImmediate);
  assert.equal(await queue.run(async () => "again"), "again");
});

test("the last statement begins once no other waits", async () => {
  const queue = new StatementQueue({ atOnce: 1 });
  const seen: string[] = [];
  const run = noting(queue, seen);
  const all = [run("a", "a"), queue.runLast(async () => void seen.push("last"))];
  all.push(
    run("a", "b"),
    queue.run(async () => void seen.push("service")),
  );
  await Promise.all(all);
  assert.equal(seen.at(-1), "last");
});
