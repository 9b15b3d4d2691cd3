/**
 * A program for tests to kill during a set-up: builds the folder `made` in its first argument, unless it exists. It prints "filling" and
 * continues when its input ends.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildFolder, isBuilt, whileBuildingAlone } from "../../src/engine/environment/build-folder.ts";
import { findEnvironment } from "../../src/engine/environment/environment.ts";

const parent = process.argv[2]!;
const folder = join(parent, "made");
const say = (word: string) => process.stdout.write(`${word}\n`);

async function fill(unfinished: string): Promise<void> {
  mkdirSync(unfinished);
  writeFileSync(join(unfinished, "content"), "");
  say("filling");
  for await (const _ of process.stdin);
}

await whileBuildingAlone(findEnvironment().python, parent, say, async () => {
  const isThere = isBuilt(folder);
  if (!isThere) await buildFolder(folder, fill);
  say(isThere ? "found" : "built");
});
