/** The code blocks of README.md and docs/, as a reader sees them. */
import { globSync, readFileSync } from "node:fs";

export interface CodeBlock {
  readonly page: string;
  /** Line of its first fence. */
  readonly line: number;
  /** Empty for blocks that are not code: output and figures. */
  readonly language: string;
  readonly text: string;
}

/** The pages in alphabetical order, each with its blocks. */
export function codeBlocks(): CodeBlock[] {
  return ["README.md", ...globSync("docs/*.md").sort()].flatMap(blocksOf);
}

function blocksOf(page: string): CodeBlock[] {
  const source = readFileSync(page, "utf8");
  return [...source.matchAll(/^( *)```(\w*)\n(.*?)^\1```$/gms)].map((found) => {
    const [, indent, language, text] = found;
    const line = source.slice(0, found.index).split("\n").length;
    return { page, line, language: language!, text: text!.replaceAll(new RegExp(`^${indent}`, "gm"), "") };
  });
}

export function placeOf({ page, line }: CodeBlock): string {
  return `${page}:${line}`;
}
