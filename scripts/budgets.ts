/**
 * Holds each part of the repository to a number of lines and characters that a person wrote, or of words for Markdown. Budgets only
 * fall: a limit is met by deleting or replacing, and a new folder takes its allowance from another line. `--print` prints the counts
 * as the table.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Lines and characters of code. */
type CodeBudget = readonly [wing: string, lines: number, characters: number, paths: RegExp];

const TESTS = /(^|\/)tests?\/|\.(test|testing|cluster)\.ts$/;

/** Written by `npm run generate`, whose `--check` compares them. */
export const GENERATED =
  /^(schemas\/|examples\/configs\/)[\w-]+\.json$|^clients\/python\/mucast_client\/(models|version)\.py$|^docs\/(errors|warnings|findings|configuration)\.md$|^src\/contract\/model-params\/catalogue\.json$|^src\/client\/output-schema\.ts$/;

/** Data, pictures, licences, locks, versions, ignored files: nothing that a reader must carry. */
const DATA =
  /\.(parquet|gz|webp|svg|pem|in|txt|ipynb|typed|npmrc)$|(^|\/)(LICENSE|package-lock\.json|\.nvmrc|\.gitignore|\.dockerignore|\.editorconfig)$|^test\/cases\/.*\.json$/;

const CODE: readonly CodeBudget[] = [
  ["contract", 9_540, 393_100, /^src\/contract\//],
  ["tables + ingest + prepare", 8_565, 331_736, /^src\/(tables|ingest|prepare)\//],
  ["panel", 3_058, 131_754, /^src\/panel\//],
  ["evaluate", 4_453, 184_079, /^src\/evaluate\//],
  ["engine (TypeScript)", 3_591, 145_157, /^src\/engine\//],
  ["jobs", 9_636, 403_536, /^src\/jobs\//],
  ["blob", 3_551, 144_883, /^src\/blob\//],
  ["outputs + replay + export + choose", 3_002, 124_735, /^src\/(outputs|replay|export|choose)\//],
  ["audit", 5_550, 233_065, /^src\/audit\//],
  ["report", 6_982, 292_860, /^src\/report\//],
  ["console", 7_890, 303_367, /^src\/console\//],
  ["client", 1_310, 52_835, /^src\/client\//],
  ["cli", 4_229, 181_148, /^src\/cli\//],
  ["executors + processes", 2_909, 116_950, /^src\/(executors|processes)\//],
  ["service", 16_855, 679_880, /^src\/service\//],
  ["tracking", 858, 35_097, /^src\/tracking\//],
  ["engine (Python)", 7_207, 304_086, /^engine\//],
  ["client (Python)", 1_848, 68_895, /^clients\//],
  ["styles and scripts of pages", 3_041, 51_027, /^web\//],
  ["tests", 92_764, 3_966_414, TESTS],
  ["bench", 9_598, 385_927, /^bench\//],
  ["scripts", 3_053, 125_559, /^scripts\//],
  ["examples", 216, 8_715, /^examples\//],
  ["deployment", 2_568, 80_828, /^infra\/|^(Dockerfile|\.devcontainer\/.*)$/],
  ["project files", 547, 19_410, /^[\w.]+\.json$|^(bin|tools|\.ci|\.github)\//],
];

/** Words of Markdown anywhere. */
const MAX_WORDS = 133_824;

interface Count {
  lines: number;
  characters: number;
  words: number;
}

/** The one line that a file belongs to. @throws Error if there is none, or more than one. */
function wingOf(path: string): string {
  if (GENERATED.test(path)) return "generated";
  if (DATA.test(path)) return "data";
  if (path.endsWith(".md")) return "words";
  if (TESTS.test(path)) return "tests";
  const wings = CODE.filter(([, , , paths]) => paths.test(path)).map(([wing]) => wing);
  if (wings.length === 1) return wings[0]!;
  throw new Error(`${path} belongs to ${wings.join(" and ") || "no line"} of scripts/budgets.ts`);
}

/** Also those that are not added yet. */
export function trackedFiles(): string[] {
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { status, stdout, stderr } = spawnSync("git", list, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return stdout.split("\0").filter((path) => path !== "");
}

function countAll(): Map<string, Count> {
  const counts = new Map<string, Count>();
  for (const path of trackedFiles()) {
    const wing = wingOf(path);
    const text = wing === "data" || wing === "generated" ? "" : readIfPresent(path);
    const count = counts.get(wing) ?? { lines: 0, characters: 0, words: 0 };
    count.lines += text.split("\n").length - 1;
    count.characters += text.length;
    count.words += wing === "words" ? text.split(/\s+/).filter((word) => word !== "").length : 0;
    counts.set(wing, count);
  }
  return counts;
}

/** A deleted file is tracked until the next commit. */
function readIfPresent(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

/** @returns a line for each budget that is exceeded. */
function exceeded(counts: ReadonlyMap<string, Count>): string[] {
  const none: Count = { lines: 0, characters: 0, words: 0 };
  const excess = (wing: string, what: string, found: number, limit: number) =>
    found > limit ? [`${wing}: ${found} ${what}, the budget is ${limit}`] : [];
  return [
    ...CODE.flatMap(([wing, lines, characters]) => {
      const found = counts.get(wing) ?? none;
      return [
        ...excess(wing, "lines", found.lines, lines),
        ...excess(wing, "characters", found.characters, characters),
      ];
    }),
    ...excess("Markdown", "words", counts.get("words")?.words ?? 0, MAX_WORDS),
  ];
}

if (import.meta.main) {
  const counts = countAll();
  if (process.argv.includes("--print")) console.table(Object.fromEntries(counts));
  const excess = exceeded(counts);
  for (const line of excess) process.stderr.write(`${line}\n`);
  process.exitCode = excess.length === 0 ? 0 : 1;
}
