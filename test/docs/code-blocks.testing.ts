/**
 * The code blocks of README.md and docs/. Words after the language say how a block is checked; one without them has only its syntax
 * checked, or nothing if it is no code.
 */
import { globSync, readFileSync } from "node:fs";

export interface CodeBlock {
  readonly page: string;
  /** Line of its first fence. */
  readonly line: number;
  /** Empty for output and figures. */
  readonly language: string;
  /**
   * `run` in a checkout, in the folder `in`; `serve`, the service that all others run against; `file`, the name under which a program is
   * compiled and run; or the format of JSON.
   */
  readonly words: Readonly<Record<string, string>>;
  readonly text: string;
}

/** The pages in alphabetical order, each with its blocks. */
export function codeBlocks(): CodeBlock[] {
  return ["README.md", ...globSync("docs/*.md").sort()].flatMap((page) => {
    const source = readFileSync(page, "utf8");
    return [...source.matchAll(/^( *)```(\w*)([^\n]*)\n(.*?)^\1```$/gms)].map((found) => {
      const [, indent, language, info, text] = found;
      const words = info!.split(" ").flatMap((word) => (word === "" ? [] : [word.split("=")]));
      return {
        page,
        line: source.slice(0, found.index).split("\n").length,
        language: language!,
        words: Object.fromEntries(words.map(([name, value = ""]) => [name, value])),
        text: text!.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
      };
    });
  });
}

export function placeOf({ page, line }: CodeBlock): string {
  return `${page}:${line}`;
}
