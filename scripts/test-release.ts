/**
 * The release tier. `npm run test:release` runs every check and every test with all its cases, `-- GROUP …` only the groups of that name
 * (release-groups.ts). `-- --changed` runs those that the last commit concerns; with `--until`, in seconds since 1970, as many of them as
 * end before that.
 */
import { parseArgs } from "node:util";
import { changedPaths, groupsNamed, groupsOfPaths, RELEASE_GROUPS } from "./release-groups.ts";
import { printFailures, runAllTiers, runReleaseGroups } from "./test-halves.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { changed: { type: "boolean", default: false }, until: { type: "string" } },
});
const until = values.until === undefined ? Number.POSITIVE_INFINITY : Number(values.until) * 1_000;
process.env.MUCAST_TEST_MATRIX = "whole";

const failed = await run();
printFailures(failed);
process.exitCode = failed.length === 0 ? 0 : 1;

async function run(): Promise<string[]> {
  if (positionals.length > 0) return runReleaseGroups(groupsNamed(positionals), until);
  if (!values.changed) return runAllTiers(RELEASE_GROUPS, printFailures);
  const changed = changedPaths();
  if (changed === undefined) {
    process.stdout.write("# Git knows no parent of the last commit, so no release group is run\n");
    return [];
  }
  return runReleaseGroups(groupsOfPaths(changed), until);
}
