import type { ForecastView } from "../../client/index.ts";
import { shortVisibleText } from "../../contract/visible-text.ts";

type Verdict = NonNullable<ForecastView["verdict"]>;

/** A verdict on two sets of rows with intervals has about a thousand characters. */
const MAX_CHARACTERS = 1_500;

/**
 * The verdict of a forecast in two parts with a space between them: its headline, which is emphasised, and the rest of its sentence.
 */
export function verdictWords({
  title,
  sentence,
}: Pick<Verdict, "title" | "sentence">): readonly [title: string, rest: string] {
  const rest = sentence.startsWith(title) ? sentence.slice(title.length).trimStart() : sentence;
  return [shortVisibleText(title, 60), shortVisibleText(rest, MAX_CHARACTERS)];
}

/** What each state means, without statistics: the end of a sentence. */
const MEANINGS: Readonly<Record<string, string>> = {
  skill: "the forecasts are better than chance, and no worse than a forecast of zero",
  oversized:
    "the forecasts are better than chance, but their sizes are too large: a forecast of zero has smaller errors",
  none: "nothing shows that the forecasts are better than chance",
  worse: "a forecast of zero would have been better",
  too_few: "skill cannot be told from luck",
} satisfies Record<Verdict["state"], string>;

/** The rows of a verdict, as its own sentence names them. */
const ROWS: Readonly<Record<string, string>> = {
  score: "score rows",
  out_of_fold: "out-of-fold rows",
  calibration: "calibration rows",
  validation: "validation rows",
} satisfies Record<Verdict["rows"], string>;

/** The plain sentence that follows the title of a verdict; undefined for a state or rows of a later service. */
export function plainVerdict({ state, rows, judged }: Verdict): string | undefined {
  if (!Object.hasOwn(MEANINGS, state) || !Object.hasOwn(ROWS, rows)) return undefined;
  const order = judged.find((set) => set.rows === rows)?.order.state;
  const meaning =
    state === "worse" && order === "worse"
      ? "returns tend to be lower where the forecasts are higher"
      : MEANINGS[state];
  return `on the ${ROWS[rows]}: ${meaning}.`;
}
