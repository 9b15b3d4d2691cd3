/**
 * A program for tests to kill during a set-up: builds the folder `made` in its first argument, unless it exists. It prints "filling" and
 * continues when its input ends.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { STAMP } from "../../src/engine/environment/environment.ts";
import { buildFolder, whileBuildingAlone } from "../../src/engine/environment/install-environment.ts";

const parent = process.argv[2]!;
const folder = join(parent, "made");
const say = (word: string) => process.stdout.write(`${word}\n`);

async function fill(unfinished: string): Promise<void> {
  mkdirSync(unfinished);
  writeFileSync(join(unfinished, "content"), "");
  say("filling");
  for await (const _ of process.stdin);
}

await whileBuildingAlone(parent, say, async () => {
  const isThere = existsSync(join(folder, STAMP));
  if (!isThere) await buildFolder(folder, fill);
  say(isThere ? "found" : "built");
});
