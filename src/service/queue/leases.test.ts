import assert from "node:assert/strict";
import { test } from "node:test";
import { LEASE_SECONDS, SeenLeases } from "./leases.ts";

const LEASE = { id: "op", attempt: 1, owner: "elsewhere", beat: 1 };
const AFTER = LEASE_SECONDS * 1_000;

/** Looks every 5 s from one time to another, milliseconds. @returns the times at which a lease had expired. */
function look(seen: SeenLeases, from: number, to: number, leaseAt = (_: number) => LEASE): number[] {
  const expired: number[] = [];
  for (let now = from; now <= to; now += 5_000)
    if (seen.findUnchanged([leaseAt(now)], now).length > 0) expired.push(now);
  return expired;
}

test("a lease expires when it has not changed for its length since the first look", () => {
  assert.deepEqual(look(new SeenLeases(), 1_000_000, 1_000_000 + AFTER + 5_000), [
    1_000_000 + AFTER,
    1_000_000 + AFTER + 5_000,
  ]);
});

test("a lease that is renewed, or claimed again, never expires", () => {
  assert.deepEqual(
    look(new SeenLeases(), 0, 100_000, (now) => ({ ...LEASE, beat: Math.floor(now / 15_000) })),
    [],
  );
  assert.deepEqual(
    look(new SeenLeases(), 0, 100_000, (now) => ({ ...LEASE, attempt: Math.floor(now / 15_000) })),
    [],
  );
});

test("a lease gets its whole time again after this process, or the database, stood still", () => {
  const seen = new SeenLeases();
  assert.deepEqual(look(seen, 0, 15_000), []);
  assert.deepEqual(look(seen, 600_000, 600_000 + AFTER - 5_000), []);
  assert.deepEqual(look(seen, 600_000 + AFTER, 600_000 + AFTER), [600_000 + AFTER]);
});
