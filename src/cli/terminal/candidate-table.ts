import { counted, printable } from "../../contract/errors/wording.ts";
import type { OutputChoice } from "../../contract/output/choice.ts";
import { MAX_CANDIDATES_SHOWN, rankedCandidates } from "../../contract/output/ranked-candidates.ts";
import { table } from "./output-table.ts";

/** What a table of candidates shows. */
type TableChoice = Pick<OutputChoice, "honest" | "best"> & {
  readonly candidates: readonly Omit<OutputChoice["candidates"][number], "settings">[];
};

/**
 * Candidates as text for a terminal, and what choosing among them was worth.
 * @param elsewhere says where a reader finds the candidates that are not shown.
 */
export function candidateTable(
  { candidates, honest, best }: TableChoice,
  elsewhere = "mucast report shows all",
): string {
  const shown = rankedCandidates(candidates).slice(0, MAX_CANDIDATES_SHOWN);
  const rows = shown.map(({ number, label, member, tickers, ...figures }) => [
    `${number} ${printable(label)}`,
    ...figureCells(figures),
    String(tickers),
    member ? "yes" : "-",
  ]);
  const header = ["candidate", "R² held out", "gain over 0", "t", "tickers", "member"];
  const more = candidates.length - shown.length;
  return [
    table(header, [...rows, ["chosen in advance", ...figureCells(honest), "", ""]]),
    ...(more === 0 ? [] : [`${counted(more, "further candidate")} with smaller gains; ${elsewhere}.`]),
    `Candidate ${best} is the best by the rows that choose; the forecasts chosen in advance show what choosing was worth.`,
  ].join("\n");
}

function figureCells({ r2, gain, gain_t: t }: OutputChoice["honest"]): string[] {
  return [percent(r2), percent(gain), t === null ? "-" : t.toFixed(2)];
}

function percent(value: number | null): string {
  // A number that rounds to 0 has no sign.
  return value === null ? "-" : `${Number((100 * value).toFixed(2)).toFixed(2)} %`;
}
