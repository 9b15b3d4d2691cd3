/** The steps of a release that need no account: .github/workflows/release.yml calls them (docs/contributing.md). */
import { parseArgs } from "node:util";
import { releaseFaults } from "./release/release-faults.ts";
import { buildArguments, readRelease } from "./release/release-files.ts";

const USAGE = `npm run release -- check [TAG]     what keeps the commit from being released, with TAG if it has one
npm run release -- prepare FOLDER  writes the package, the SBOMs, the notes and the checksums to FOLDER
npm run release -- build-args      prints the arguments of docker build for the labels of an image
`;

const { positionals, values } = parseArgs({ allowPositionals: true, strict: false });
const [command, operand, ...rest] = positionals;

if (rest.length > 0 || Object.keys(values).length > 0) fail(USAGE);
else if (command === "check") check(operand);
else if (command === "prepare" && operand !== undefined) {
  // It needs packages, which the other commands do without.
  const { prepareRelease } = await import("./release/prepare-release.ts");
  prepareRelease(".", operand);
} else if (command === "build-args" && operand === undefined) {
  process.stdout.write(`${buildArguments(".").join(" ")}\n`);
} else fail(USAGE);

function check(tag: string | undefined): void {
  const faults = releaseFaults(".", tag);
  if (faults.length > 0) fail(faults.map((fault) => `${fault}\n`).join(""));
  else process.stdout.write(`mucast ${readRelease(".").version} can be released\n`);
}

function fail(text: string): void {
  process.stderr.write(text);
  process.exitCode = 1;
}
