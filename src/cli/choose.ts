import type { Command } from "commander";
import { type CandidateOutput, candidateOf, chooseOutputs } from "../choose/choose-outputs.ts";
import { CHOICE_MEASURES, CHOICE_RULES } from "../contract/config/choice/choice-config.ts";
import { LIMITS } from "../contract/config/limits.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import { CHOSEN_ROWS, type ChosenOutputs } from "../contract/output/choice.ts";
import { openDocument } from "../outputs/open-document.ts";
import { addCommand } from "./command.ts";
import { OUTPUT_OPTION, outputLocations, readUntilSignal } from "./locations.ts";
import { candidateTable } from "./terminal/candidate-table.ts";
import { table } from "./terminal/output-table.ts";

export function addChoose(program: Command): void {
  addCommand(program, "choose", {
    about: "choose among the forecasts of finished outputs, and show what choosing was worth",
    argument: ["[outputs...]", "outputs of jobs on the same prices: paths, or file:, https: or s3: URLs"],
    options: {
      ...OUTPUT_OPTION,
      rows: ["--rows <rows>", "the forecasts to compare", { choices: CHOSEN_ROWS, default: "out_of_fold" }],
      rule: [
        "--rule <rule>",
        "the mean of those near the best, or the best alone",
        { choices: CHOICE_RULES, default: "mean" },
      ],
      measure: [
        "--measure <measure>",
        "compare squared errors, or the order of the tickers",
        { choices: CHOICE_MEASURES, default: "squared_error" },
      ],
      json: ["--json", "print JSON, with the members of every date and the series of losses"],
    },
    help: `
Examples:
  mucast choose ml_engine_41.json ml_engine_42.json ml_engine_43.json
  mucast choose ml_engine_42.json nn_engine_43.json --rows score

The first output is candidate 0. For each fold, the choice looks only at returns that were known when the fold began, so the line
"chosen in advance" shows what choosing was worth. Outputs of networks have no out-of-fold rows; compare them by --rows score.
docs/choice.md explains the figures.`,
    run: async ({ json, ...flags }, words) => {
      const locations = await outputLocations(words, flags);
      if (locations.length < 2 || locations.length > LIMITS.candidates) {
        const message = `${counted(locations.length, "output")} ${locations.length === 1 ? "is" : "are"} named; name 2 to ${LIMITS.candidates}`;
        throw new MucastError("invalid_request", message, { path: "outputs", value: locations.length });
      }
      const outputs: CandidateOutput[] = [];
      await readUntilSignal(async (reading) => {
        // One at a time: a document may need much memory while it is read.
        for (const location of locations)
          outputs.push(candidateOf(await openDocument(location, reading), flags));
      });
      const chosen = chooseOutputs(outputs, flags);
      process.stdout.write(json ? `${JSON.stringify(chosen, null, 2)}\n` : choiceText(chosen));
    },
  });
}

/** More changes do not help on a terminal. */
const MAX_CHANGES = 20;

function choiceText(chosen: ChosenOutputs): string {
  const { changes, members, rows, optimism, measure } = chosen;
  const { dates, gains } = chosen.losses;
  const named = rows === "score" ? "score rows" : "out-of-fold rows";
  let compared = `No ${named} of these outputs can be compared.`;
  if (dates.length > 0) {
    // Score rows of different cuts have different dates.
    const span = `from ${dates[0]} to ${dates.at(-1)} (${counted(dates.length, "date")})`;
    compared = `Compared on the ${named} whose returns are known ${span}.`;
  }
  const judged = gains?.filter((gain) => gain !== null).length ?? dates.length;
  const early = dates.length - judged;
  if (early > 0) {
    const others = early === 1 ? "one only chooses" : `the other ${early} only choose`;
    compared += ` Figures are over ${judged.toLocaleString("en-US")} of these dates; ${others}.`;
  }
  const last = changes.slice(-MAX_CHANGES).map(({ date, members: own }) => [date, own.join(", ")]);
  last.push(["at the end", members.join(", ")]);
  const lines = [compared, "", candidateTable(chosen, "--json lists all"), ""];
  lines.push(table(["members from", "candidates"], last));
  const earlier = changes.length - MAX_CHANGES;
  if (earlier > 0) lines.push(`${earlier} earlier changes; --json lists all.`);
  const claim = measure === "ic" ? "a mean IC" : "an R²";
  const amount = measure === "ic" ? optimism?.toFixed(4) : `${(100 * (optimism ?? 0)).toFixed(2)} %`;
  let worth = "No fold begins after 30 label dates are known, so nothing shows what choosing was worth.";
  if (optimism !== null && optimism > 0)
    worth = `Picking the best afterwards would claim ${claim} that is ${amount} too high.`;
  else if (optimism !== null)
    worth = `The forecasts chosen in advance have ${claim} at least as high as the best candidate.`;
  return [...lines, "", worth, ""].join("\n");
}
