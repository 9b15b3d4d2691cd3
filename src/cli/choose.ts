import type { Command } from "commander";
import { blobPolicy } from "../blob/policy.ts";
import { type CandidateOutput, candidateOf, chooseOutputs } from "../choose/choose-outputs.ts";
import { CHOICE_MEASURES, CHOICE_RULES } from "../contract/config/choice/choice-config.ts";
import { LIMITS } from "../contract/config/limits.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import { CHOSEN_ROWS, type ChosenOutputs } from "../contract/output/choice.ts";
import { openDocument } from "../outputs/open-document.ts";
import { addCommand } from "./command.ts";
import { OUTPUT_OPTION, outputLocations } from "./locations.ts";
import { candidateTable } from "./terminal/candidate-table.ts";
import { table } from "./terminal/output-table.ts";
import { untilSignal } from "./terminal/signals.ts";

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
      await untilSignal(async (signal) => {
        const reading = { policy: blobPolicy(process.env), blobUrl: process.env.BLOB_URL, signal };
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
  const { changes, members } = chosen;
  const last = changes.slice(-MAX_CHANGES).map(({ date, members: own }) => [date, own.join(", ")]);
  const earlier = changes.length - last.length;
  return [
    rowsText(chosen),
    "",
    candidateTable(chosen, "--json lists all"),
    "",
    table(["members from", "candidates"], [...last, ["at the end", members.join(", ")]]),
    ...(earlier === 0 ? [] : [`${earlier} earlier changes; --json lists all.`]),
    "",
    optimismText(chosen),
    "",
  ].join("\n");
}

/** Which rows were compared: score rows of different cuts have different dates. */
function rowsText({ rows, losses: { dates, gains } }: ChosenOutputs): string {
  const [first, last] = [dates[0], dates.at(-1)];
  const named = rows === "score" ? "score rows" : "out-of-fold rows";
  const judged = gains?.filter((gain) => gain !== null).length ?? dates.length;
  const early = dates.length - judged;
  const over =
    early === 0
      ? ""
      : ` Figures are over ${judged.toLocaleString("en-US")} of these dates; ${early === 1 ? "one" : `the other ${early}`} only choose${early === 1 ? "s" : ""}.`;
  return first === undefined
    ? `No ${named} of these outputs can be compared.`
    : `Compared on the ${named} whose returns are known from ${first} to ${last} (${counted(dates.length, "date")}).${over}`;
}

function optimismText({ optimism, measure }: ChosenOutputs): string {
  if (optimism === null) {
    return "No fold begins after 30 label dates are known, so nothing shows what choosing was worth.";
  }
  const [claim, amount] =
    measure === "ic" ? ["a mean IC", optimism.toFixed(4)] : ["an R²", `${(100 * optimism).toFixed(2)} %`];
  return optimism > 0
    ? `Picking the best afterwards would claim ${claim} that is ${amount} too high.`
    : `The forecasts chosen in advance have ${claim} at least as high as the best candidate.`;
}
