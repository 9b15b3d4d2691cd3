import assert from "node:assert/strict";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { diskBytes, UsageLimit } from "./usage-limit.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-usage-"));
after(() => rmSync(folder, { recursive: true }));

const MIB = 2 ** 20;
const bytesOnDisk = (path: string) => statSync(path).blocks * 512;

test("tells the largest first once two measurements in a row exceed the limit together", async () => {
  const users = new Map([
    ["small", 300],
    ["large", 800],
  ]);
  const calls: unknown[] = [];
  const limit = new UsageLimit<string>({
    measure: async () => [...users].map(([user, bytes]) => ({ user, bytes })),
    limit: () => 1_000,
    onOver: (usages, facts) => calls.push([usages.map(({ user }) => user), facts]),
    pause: { min: 1, max: 1, factor: 1 },
  });
  for (const large of [800, 700, 800]) {
    users.set("large", large);
    await limit.measure();
  }
  assert.deepEqual(calls, [], "it exceeded the limit only for a moment");
  await limit.measure();
  assert.deepEqual(calls, [[["large", "small"], { together: 1_100, limit: 1_000 }]]);
  await limit.measure();
  assert.equal(calls.length, 1);
});

test("counts files in subfolders, once each whatever the number of their names, and open ones without a name", {
  skip: process.platform !== "linux" && "looks into /proc",
}, async () => {
  for (const name of ["candidate0", "candidate1"]) mkdirSync(join(folder, name));
  const [panel, table] = [join(folder, "panel0.npy"), join(folder, "table")];
  writeFileSync(panel, Buffer.alloc(MIB, 1));
  for (const name of ["candidate0", "candidate1"]) linkSync(panel, join(folder, name, "panel0.npy"));
  writeFileSync(join(folder, "candidate1", "own"), Buffer.alloc(MIB, 1));
  writeFileSync(table, Buffer.alloc(3 * MIB, 1));
  const bytes = bytesOnDisk(table);
  for (let opened = 0; opened < 2; opened++) openSync(table, "r");
  unlinkSync(table);
  assert.equal(await diskBytes(folder, process.pid), 2 * bytesOnDisk(panel) + bytes);
  assert.equal(await diskBytes(join(folder, "candidate0"), process.pid), bytesOnDisk(panel));
  assert.equal(await diskBytes(join(folder, "none"), process.pid), 0);
  // Its name is no UTF-8, so its text leads nowhere, as if the folder had gone after it was listed.
  mkdirSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]));
  assert.equal(await diskBytes(folder, process.pid), 2 * bytesOnDisk(panel) + bytes);
});
