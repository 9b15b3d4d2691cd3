import { spawnSync } from "node:child_process";

/** What `npm run build` and `prepack` write; git has every other file of the package. */
const BUILT = [
  /^dist\/commit$/,
  /^dist\/.+\.(?:js|json|d\.ts)$/,
  /^web\/swagger-ui\/[\w.-]+$/,
  /^npm-shrinkwrap\.json$/,
];
const NO_PART_OF_IT = /\.test\.|\.testing\.|(?:^|\/)tests?\/|__pycache__/;

/** Files without which the package would not work, of those that no other check counts. */
const NEEDED = [
  "LICENSE",
  "README.md",
  "bin/mucast.cjs",
  "dist/cli/main.js",
  "dist/client/index.d.ts",
  "dist/commit",
  "dist/console/main.js",
  "npm-shrinkwrap.json",
  "web/swagger-ui/swagger-ui-bundle.js",
];
/** Every file of git in them is in the package. */
const WHOLE = [
  "bin",
  "docs",
  "engine/mucast_engine",
  "engine/requirements-*.txt",
  "examples/sp500-30",
  "schemas",
  "web",
];
/** Locks for development. */
const LEFT_OUT = ["engine/requirements-dev.txt", "engine/requirements-lint.txt"];

/** Files that the package contains and should not, or lacks; one line each. */
export function packageFaults(checkout: string, files: readonly string[]): string[] {
  const tracked = new Set(trackedFiles(checkout));
  const unexpected = files.filter(
    (file) => NO_PART_OF_IT.test(file) || !(tracked.has(file) || BUILT.some((pattern) => pattern.test(file))),
  );
  const packed = new Set(files);
  const needed = [...NEEDED, ...trackedFiles(checkout, ...WHOLE).filter((file) => !LEFT_OUT.includes(file))];
  const missing = needed.filter((file) => !packed.has(file));
  return [
    ...unexpected.map((file) => `${file} does not belong to the package`),
    ...missing.map((file) => `${file} is missing`),
  ];
}

function trackedFiles(checkout: string, ...paths: string[]): string[] {
  const words = ["ls-files", "-z", "--", ...paths];
  const { status, stdout, stderr } = spawnSync("git", words, { cwd: checkout, encoding: "utf8" });
  if (status !== 0) throw new Error(`git ls-files: ${stderr}`);
  return stdout.split("\0").filter((file) => file !== "");
}
