import type { ForecastView } from "../../../client/index.ts";
import { shortVisibleText } from "../../../contract/visible-text.ts";

/** A verdict on two sets of rows with intervals has about a thousand characters. */
const MAX_CHARACTERS = 1_500;

/**
 * The verdict of a forecast in two parts with a space between them: its headline, which is emphasised, and the rest of its sentence.
 */
export function verdictWords({
  title,
  sentence,
}: Pick<NonNullable<ForecastView["verdict"]>, "title" | "sentence">): readonly [title: string, rest: string] {
  const rest = sentence.startsWith(title) ? sentence.slice(title.length).trimStart() : sentence;
  return [shortVisibleText(title, 60), shortVisibleText(rest, MAX_CHARACTERS)];
}
