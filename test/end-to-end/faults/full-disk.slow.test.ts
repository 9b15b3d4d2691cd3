/** A full disk, in a small in-memory file system that only one command sees: for the output, and for the work folder. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { type Ended, jobArguments, jsonLines, mucast } from "../commands/command.ts";
import { type BlobPair, newFolder, removeFolders, writeMarket } from "../jobs/job-runs.ts";
import { cleanMarket, type Market, tickerSeries, weekdays } from "../markets/market.ts";

const QUICK =
  '{"ML params": {"model": "catboost", "n_splits": 2, "model_params": {"iterations": 3, "depth": 2}}}';

/** Mount namespaces require root, or a kernel that gives every user a namespace. */
const NAMESPACE = [
  ["unshare", "--mount"],
  ["unshare", "--user", "--map-root-user", "--mount"],
].find(
  ([command, ...args]) => spawnSync(command!, [...args, "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0,
);

/** Runs a command with a file system of `kib` KiB at `folder`, and lists the files that it contains afterwards. */
async function withSmallDisk(
  folder: string,
  kib: number,
  args: readonly string[],
  temporary?: string,
): Promise<Ended & { readonly left: readonly string[] }> {
  const script = `mount -t tmpfs -o size=${kib}k,mode=700 none '${folder}' || exit 99
"$@"
code=$?
echo "LEFT:"
find '${folder}' -type f
exit $code`;
  const through = [...NAMESPACE!, "sh", "-c", script, "sh"];
  const ended = await mucast(args, { through, ...(temporary === undefined ? {} : { temporary }) });
  const [stdout, left] = ended.stdout.split("LEFT:\n");
  return { ...ended, stdout: stdout!, left: left!.split("\n").filter((line) => line !== "") };
}

let pair: BlobPair;
before(async () => {
  pair = await writeMarket(cleanMarket("2021-10-29"));
});
after(removeFolders);

const options = { concurrency: 2, skip: NAMESPACE === undefined && "no file system can be mounted here" };

describe(
  "a full disk ends the job with output_failed (3), its place, and nothing half-written",
  options,
  () => {
    test("in the place of the output", async () => {
      const disk = await newFolder();
      const args = jobArguments(pair, QUICK, "--log", "json", "--blob-url", disk);
      const { code, stdout, stderr, left } = await withSmallDisk(disk, 16, args);
      assert.deepEqual([code, stdout, left], [3, "", []], stderr);
      const problem = jsonLines(stderr).at(-1)!;
      assert.equal(problem.code, "output_failed");
      assert.match(String(problem.detail), /ENOSPC|no space/i);
      assert.ok(String(problem.detail).includes(disk));
    });

    // Few predictions travel within a message, but not those of 1,300 score rows.
    const manyScoreRows = (): Market => {
      const dates = weekdays(1_500);
      const { prices, columns } = tickerSeries(100, dates.length);
      const bounds = { start: dates[0]!, end: dates.at(-1)!, Learning_end: dates[199]! };
      const [own, features] = [new Map([["A", prices]]), new Map([["A", columns]])];
      return { bounds, priceDates: dates, prices: own, featureDates: dates, features };
    };
    const places: readonly (readonly [kib: number, room: string, blobs: () => Promise<BlobPair>])[] = [
      [12, "no matrix", async () => pair],
      [60, "the matrices of some tickers", async () => pair],
      [84, "all matrices and no predictions", () => writeMarket(manyScoreRows())],
    ];
    for (const [kib, room, blobs] of WHOLE_MATRIX ? places : places.slice(1, 2)) {
      test(`in the place of the work folder, with ${kib} KiB: room for ${room}`, async () => {
        const [disk, blobUrl] = [await newFolder(), join(await newFolder(), "blobs")];
        const args = jobArguments(
          await blobs(),
          QUICK,
          "--workers",
          "1",
          "--log",
          "json",
          "--blob-url",
          blobUrl,
        );
        const { code, stdout, stderr, left } = await withSmallDisk(disk, kib, args, disk);
        assert.deepEqual([code, stdout, left], [3, "", []], stderr);
        const problem = jsonLines(stderr).at(-1)!;
        assert.equal(problem.code, "output_failed");
        assert.match(String(problem.detail), /no space left/i);
        assert.match(String(problem.detail), /work folder of the job cannot be written: .*; TMPDIR names/);
        assert.ok(!existsSync(blobUrl));
      });
    }
  },
);
