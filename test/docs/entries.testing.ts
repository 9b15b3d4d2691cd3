/** The code blocks of README.md and docs/, and their entries in checks.testing.ts. */
import { CHECKS, type Check } from "./checks.testing.ts";
import { type CodeBlock, codeBlocks } from "./code-blocks.testing.ts";

export const BLOCKS = codeBlocks();

export function entriesOf({ page, text }: CodeBlock): readonly Check[] {
  return CHECKS.filter(([where, begins]) => where === page && text.startsWith(begins)).map(
    ([, , check]) => check,
  );
}

/** The output of a command or the service that follows it on the page; it has no entry of its own. */
export function printedBy(block: CodeBlock): CodeBlock | undefined {
  const next = BLOCKS[BLOCKS.indexOf(block) + 1];
  const isShown = next?.page === block.page && next.language === "" && entriesOf(next).length === 0;
  return isShown ? next : undefined;
}

export function blocksBy<K extends Check["by"]>(by: K): { block: CodeBlock; check: Check & { by: K } }[] {
  return BLOCKS.flatMap((block) => {
    const [check] = entriesOf(block);
    return check?.by === by ? [{ block, check: check as Check & { by: K } }] : [];
  });
}
