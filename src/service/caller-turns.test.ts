import assert from "node:assert/strict";
import { test } from "node:test";
import { CallerTurns } from "./caller-turns.ts";

const [ANN, BOB] = [{ subject: "ann" }, { subject: "bob" }];

/** Work that a test ends by hand, and the names of what has begun. */
function heldWork(atOnce: number) {
  const turns = new CallerTurns({ atOnce, what: "read an output" });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (caller: { subject: string }, name: string, signal?: AbortSignal) =>
    turns.run(caller, signal, () => {
      begun.push(name);
      return new Promise<void>((resolve) => void ends.set(name, resolve));
    });
  /** Ends work, and waits until what follows it has begun. */
  const end = async (name: string) => {
    ends.get(name)!();
    await new Promise(setImmediate);
  };
  return { begun, ask, end };
}

test("callers take turns: the many requests of one keep no other waiting for more than one of them", async () => {
  const { begun, ask, end } = heldWork(1);
  const asked = ["ann 1", "ann 2", "ann 3", "ann 4"].map((name) => ask(ANN, name));
  asked.push(ask(BOB, "bob 1"), ask(BOB, "bob 2"));
  for (let done = 0; done < asked.length; done++) await end(begun.at(-1)!);
  await Promise.all(asked);
  assert.deepEqual(begun, ["ann 1", "ann 2", "bob 1", "ann 3", "bob 2", "ann 4"]);
});

test("a request that is given up while it waits has no turn", async () => {
  const { begun, ask, end } = heldWork(1);
  const leaving = new AbortController();
  const asked = [ask(ANN, "ann 1"), ask(BOB, "bob 1")];
  const given = ask(ANN, "ann 2", leaving.signal);
  leaving.abort();
  await assert.rejects(given, { code: "canceled" });
  await assert.rejects(ask(ANN, "ann 3", AbortSignal.abort()), { code: "canceled" });
  await end("ann 1");
  await end("bob 1");
  await Promise.all(asked);
  assert.deepEqual(begun, ["ann 1", "bob 1"]);
});

test("ten requests of a caller wait, and fifty of all callers", async () => {
  const { ask } = heldWork(1);
  const wait = (subject: string, count: number) => {
    for (let i = 0; i < count; i++) void ask({ subject }, `${subject} ${i}`);
  };
  wait("ann", 11);
  await assert.rejects(ask(ANN, "one more"), { code: "rate_limited" });
  for (const subject of ["b", "c", "d", "e"]) wait(subject, 10);
  await assert.rejects(ask(BOB, "one more"), { code: "unavailable" });
});
