import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { seededRandom } from "../../test/twins/random.ts";
import { WHOLE_MATRIX } from "../../test/whole-matrix.testing.ts";
import { logOfRatio, naturalLog } from "./natural-log.ts";

/** Python's decimal module, with a chosen number of digits. It reads and writes float64 as 16 hex digits. */
const REFERENCE = `
import struct, sys
from decimal import Decimal, getcontext
getcontext().prec = 40
def number(text):
    return Decimal(struct.unpack(">d", bytes.fromhex(text))[0])
for line in sys.stdin:
    a, _, b = line.strip().partition(" ")
    value = number(a).ln() - (number(b).ln() if b else 0)
    print(struct.pack(">d", float(value)).hex())
`;

/** More ratios in the release tier. */
const TIMES = WHOLE_MATRIX ? 10 : 1;

const bytes = new DataView(new ArrayBuffer(8));

function hex(value: number): string {
  bytes.setFloat64(0, value);
  return bytes.getBigUint64(0).toString(16).padStart(16, "0");
}

function reference(lines: readonly string[]): string[] {
  const { status, stdout, stderr } = spawnSync("python3", ["-c", REFERENCE], {
    input: lines.join("\n"),
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  assert.equal(status, 0, stderr);
  return stdout.trim().split("\n");
}

/** Ratios of two prices in cents, a day apart. */
function dailyRatios(count: number): number[] {
  const random = seededRandom(1);
  return Array.from({ length: count }, () => {
    const price = 500 + random.below(50_000);
    return Math.max(1, Math.round(price * (1 + 0.02 * random.normal()))) / price;
  });
}

function extremeRatios(count: number): number[] {
  const random = seededRandom(2);
  const makers = [
    () => 2 ** (random.uniform() * 2000 - 1000) * (1 + random.uniform()),
    () => 1 + (random.uniform() - 0.5) * 2 ** (-50 * random.uniform()),
    () => Number.MIN_VALUE * Math.ceil(random.uniform() * 2 ** 50),
    () => 1 + random.below(4000) * 2 ** -52,
    () => 1 - random.below(4000) * 2 ** -53,
    () => 0.7 + 0.73 * random.uniform(),
  ];
  return Array.from({ length: count }, (_, i) => makers[i % makers.length]!());
}

test("the logarithm equals that of 40 digits, rounded once, on ordinary and extreme ratios", () => {
  const edges = [1, 2, 0.5, Math.SQRT2, Math.SQRT1_2, Number.MAX_VALUE, Number.MIN_VALUE, 2 ** -1022];
  const ratios = [...dailyRatios(6_000 * TIMES), ...extremeRatios(4_000 * TIMES), ...edges];
  const expected = reference(ratios.map(hex));
  const wrong = ratios.filter((ratio, i) => hex(naturalLog(ratio)) !== expected[i]);
  assert.deepEqual(wrong, []);
});

test("the logarithm equals that of 40 digits even for a quotient beyond the range of a float64", () => {
  const random = seededRandom(3);
  const pairs = Array.from({ length: 2000 }, () => {
    const [far, near] = [2 ** (1000 * random.uniform() + 20), 2 ** -1010 * (1 + random.uniform())];
    return random.below(2) === 0 ? [far, near] : [near, far];
  });
  const expected = reference(pairs.map(([a, b]) => `${hex(a!)} ${hex(b!)}`));
  const wrong = pairs.filter(([a, b], i) => hex(logOfRatio(a!, b!)) !== expected[i]);
  assert.deepEqual(wrong, []);
});
