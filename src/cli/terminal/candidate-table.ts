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
  const laterCells = (later?: LaterFigures) =>
    close === undefined ? [] : [fixed(later?.ic ?? null, 4), netText(later)];
  const rows = shown.map(({ number, label, member, tickers, later, ...figures }) => [
    `${number} ${printable(label)}`,
    ...figureCells(figures, choice),
    ...laterCells(later),
    String(tickers),
    member ? "yes" : "-",
  ]);
  const laterHeader = close === undefined ? [] : ["IC later", "net later"];
  const header = [
    ...["candidate", "R² held out", "IC held out", "gain over 0", "90 % band"],
    ...laterHeader,
    ...["tickers", "member"],
  ];
  const more = candidates.length - shown.length;
  return [
    table(header, [
      ...rows,
      ["chosen in advance", ...figureCells(honest, choice), ...laterHeader.map(() => ""), "", ""],
    ]),
    ...(close === undefined
      ? []
      : [
          `Later: traded ${closeName(close)}, over all dates of the output; net: the top minus the bottom fifth after 5 bp a side, bp a day, with its 90 % band.`,
        ]),
    ...(more === 0 ? [] : [`${counted(more, "further candidate")} with smaller gains; ${elsewhere}.`]),
    `Candidate ${best} is the best by the rows that choose; the forecasts chosen in advance show what choosing was worth.${measure === "ic" ? "" : GAIN_UNIT}`,
  ].join("\n");
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
