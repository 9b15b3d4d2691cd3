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
  /\.(parquet|gz|webp|svg|pem|in|txt|ipynb|typed|npmrc)$|(^|\/)(LICENSE|package-lock\.json|\.nvmrc|\.gitignore|\.dockerignore|\.editorconfig)$|^test\/(cases|tables)\/.*\.json$/;

const CODE: readonly CodeBudget[] = [
  ["contract", 7_676, 337_954, /^src\/contract\//],
  ["tables + ingest + prepare", 4_258, 186_089, /^src\/(tables|ingest|prepare)\//],
  ["panel", 2_158, 99_934, /^src\/panel\//],
  ["evaluate", 3_326, 150_158, /^src\/evaluate\//],
  ["engine (TypeScript)", 2_562, 106_981, /^src\/engine\//],
  ["jobs", 5_767, 258_865, /^src\/jobs\//],
  ["blob", 2_695, 116_185, /^src\/blob\//],
  ["outputs + replay + export + choose", 2_064, 93_056, /^src\/(outputs|replay|export|choose)\//],
  ["audit", 3_874, 180_873, /^src\/audit\//],
  ["report", 4_176, 186_442, /^src\/report\//],
  ["view", 1_047, 44_941, /^src\/view\//],
  ["console", 3_977, 177_381, /^src\/console\//],
  ["client", 1_025, 45_130, /^src\/client\//],
  ["cli", 3_107, 144_882, /^src\/cli\//],
  ["executors + processes", 1_798, 76_786, /^src\/(executors|processes)\//],
  ["service", 9_730, 433_904, /^src\/service\//],
  ["tracking", 358, 18_140, /^src\/tracking\//],
  ["engine (Python)", 5_234, 229_867, /^engine\//],
  ["client (Python)", 1_743, 65_907, /^clients\//],
  ["styles and scripts of pages", 2_868, 48_517, /^web\//],
  ["tests", 63_165, 2_824_724, TESTS],
  ["bench", 4_959, 199_371, /^bench\//],
  ["scripts", 1_890, 83_693, /^scripts\//],
  ["examples", 116, 5_357, /^examples\//],
  ["deployment", 2_589, 81_215, /^infra\/|^(Dockerfile|\.devcontainer\/.*)$/],
  ["project files", 532, 18_662, /^[\w.]+\.json$|^(bin|tools|\.ci|\.github)\//],
];

/** Words of Markdown anywhere. */
const MAX_WORDS = 44_739;

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
