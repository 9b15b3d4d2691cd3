import assert from "node:assert/strict";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { DiskBudget, type DiskFacts, type DiskUser } from "./disk-budget.ts";
import { folderBytes, freeBytes, namelessBytes } from "./disk-usage.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-disk-"));
after(() => rmSync(folder, { recursive: true }));

const MIB = 2 ** 20;

/** A fake process; the test sets the size of its files. */
class FakeProcess implements DiskUser {
  /** The facts of each call; a process is killed only once. */
  readonly kills: DiskFacts[] = [];
  job: object | undefined;
  bytes: number;
  /** The job that it runs once its files are measured. */
  next: object | undefined;

  constructor(bytes: number, hasJob = true) {
    this.bytes = bytes;
    this.job = hasJob ? {} : undefined;
  }

  async diskBytes(): Promise<number> {
    this.job = this.next ?? this.job;
    return this.bytes;
  }

  onOverDisk(facts: DiskFacts): void {
    this.kills.push(facts);
  }
}

function budgetOf(limitBytes: number | undefined, ...processes: FakeProcess[]): DiskBudget {
  return new DiskBudget({ limitBytes, folder, processes: () => processes });
}

test("kills the job whose files take the most once all exceed the limit, and no other one while these are removed", async () => {
  const [small, large, waiting] = [
    new FakeProcess(400 * MIB),
    new FakeProcess(500 * MIB),
    new FakeProcess(900 * MIB, false),
  ];
  const budget = budgetOf(900 * MIB, small, large, waiting);
  await budget.measure();
  assert.deepEqual([small.kills, large.kills], [[], []]);
  large.bytes += 1;
  for (let i = 0; i < 3; i++) await budget.measure();
  assert.deepEqual(large.kills, [{ held: 500 * MIB + 1, limit: 900 * MIB, together: 900 * MIB + 1 }]);
  assert.deepEqual([small.kills, waiting.kills], [[], []]);
});

test("does not kill the next job of a process for the files of a job that ended while they were measured", async () => {
  const [reused, other] = [new FakeProcess(900 * MIB), new FakeProcess(100 * MIB)];
  reused.next = {};
  const budget = budgetOf(500 * MIB, reused, other);
  await budget.measure();
  assert.deepEqual([reused.kills, other.kills], [[], []]);
  await budget.measure();
  assert.equal(reused.kills.length, 1, "the next job has as many");
});

test("leaves a fifth of the free space if no limit is set", async () => {
  const free = (await freeBytes(folder))!;
  const [small, large] = [new FakeProcess(free / 100), new FakeProcess(10 * free)];
  await budgetOf(undefined, small).measure();
  await budgetOf(undefined, large).measure();
  assert.equal(small.kills.length, 0);
  assert.equal(large.kills.length, 1);
});

test("counts a file with several names once", async () => {
  const place = join(folder, "linked");
  for (const name of ["", "candidate0", "candidate1"]) mkdirSync(join(place, name), { recursive: true });
  const panel = join(place, "panel0.npy");
  writeFileSync(panel, Buffer.alloc(MIB, 1));
  for (const name of ["candidate0", "candidate1"]) linkSync(panel, join(place, name, "panel0.npy"));
  writeFileSync(join(place, "candidate1", "own"), Buffer.alloc(MIB, 1));
  assert.equal(await folderBytes(place), 2 * statSync(panel).blocks * 512);
});

test("counts files in subfolders, and open ones without a name", {
  skip: process.platform !== "linux",
}, async () => {
  const [place, link] = [join(folder, "work"), join(folder, "link")];
  mkdirSync(join(place, "inner"), { recursive: true });
  symlinkSync(place, link);
  const named = join(place, "inner", "named");
  writeFileSync(named, Buffer.alloc(MIB, 1));
  assert.equal(await folderBytes(place), statSync(named).blocks * 512);
  assert.equal(await namelessBytes(process.pid, place), 0);
  const nameless = join(place, "nameless");
  writeFileSync(nameless, Buffer.alloc(3 * MIB, 1));
  const bytes = statSync(nameless).blocks * 512;
  openSync(nameless, "r");
  openSync(nameless, "r");
  unlinkSync(nameless);
  assert.equal(await namelessBytes(process.pid, place), bytes);
  assert.equal(await namelessBytes(process.pid, link), bytes);
  assert.equal(await namelessBytes(process.pid, join(folder, "other")), 0);
  assert.equal(await folderBytes(join(folder, "other")), 0);
});
