import { counted, printable } from "../../contract/errors/wording.ts";
import { MAX_CANDIDATES_SHOWN, type OutputChoice, rankedCandidates } from "../../contract/output/choice.ts";
import { closeName } from "../../contract/output/later-close.ts";
import type { LaterFigures } from "../../contract/output/metrics-schemas.ts";
import { gainBand } from "../../report/statistics/gain-band.ts";
import { table } from "./output-table.ts";

const GAIN_UNIT =
  " Gains are shares of the mean squared return of the rows from which the first fold learned.";

type TableChoice = Pick<OutputChoice, "honest" | "best" | "measure" | "method" | "losses"> & {
  readonly candidates: readonly (Omit<OutputChoice["candidates"][number], "settings"> & {
    readonly later?: LaterFigures | undefined;
  })[];
};

/**
 * Candidates as text for a terminal, and what choosing among them was worth.
 * @param elsewhere says where a reader finds the candidates that are not shown.
 */
export function candidateTable(choice: TableChoice, elsewhere = "mucast report shows all"): string {
  const { candidates, honest, best, measure } = choice;
  const shown = rankedCandidates(candidates).slice(0, MAX_CANDIDATES_SHOWN);
  // Outputs with different delays are refused, so there is one close.
  const close = shown.find(({ later }) => later !== undefined)?.later?.delay;
  const header = ["candidate", "R² held out", "IC held out", "gain over 0", "90 % band"];
  const rows = shown.map(({ number, label, later, ...figures }) => {
    const cells = [`${number} ${printable(label)}`, ...figureCells(figures, choice)];
    if (close !== undefined) cells.push(fixed(later?.ic ?? null, 4), netText(later));
    return [...cells, String(figures.tickers), figures.member ? "yes" : "-"];
  });
  if (close !== undefined) header.push("IC later", "net later");
  header.push("tickers", "member");
  const chosen = ["chosen in advance", ...figureCells(honest, choice)];
  rows.push(header.map((_, i) => chosen[i] ?? ""));
  const lines = [table(header, rows)];
  if (close !== undefined) {
    const net = "the top minus the bottom fifth after 5 bp a side, bp a day, with its 90 % band";
    lines.push(`Later: traded ${closeName(close)}, over all dates of the output; net: ${net}.`);
  }
  const more = candidates.length - shown.length;
  if (more > 0) lines.push(`${counted(more, "further candidate")} with smaller gains; ${elsewhere}.`);
  const worth = "the forecasts chosen in advance show what choosing was worth";
  const unit = measure === "ic" ? "" : GAIN_UNIT;
  lines.push(`Candidate ${best} is the best by the rows that choose; ${worth}.${unit}`);
  return lines.join("\n");
}

function figureCells(figures: OutputChoice["honest"], choice: TableChoice): string[] {
  const { r2, ic = null, gain } = figures;
  const gained = (value: number | null) => (choice.measure === "ic" ? fixed(value, 4) : percent(value));
  const band = gainBand(choice, figures);
  return [
    percent(r2),
    fixed(ic, 4),
    gained(gain),
    band === null ? "-" : `${gained(band.low)} to ${gained(band.high)}`,
  ];
}

function netText({ net_5bp: net = null, net_low: low, net_high: high }: Partial<LaterFigures> = {}): string {
  return low == null || high == null
    ? fixed(net, 1)
    : `${fixed(net, 1)} (${fixed(low, 1)} to ${fixed(high, 1)})`;
}

function fixed(value: number | null, digits: number): string {
  return value === null ? "-" : Number(value.toFixed(digits)).toFixed(digits);
}

function percent(value: number | null): string {
  // A number that rounds to 0 has no sign.
  return value === null ? "-" : `${Number((100 * value).toFixed(2)).toFixed(2)} %`;
}
