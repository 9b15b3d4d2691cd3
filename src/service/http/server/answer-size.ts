import { SIZES } from "../../../contract/schema/answer-limits.ts";

/** The JSON text of an answer. @throws Error, a defect: lists that may be long end their pages before this limit. */
export function answerText(answer: unknown): string {
  const text = JSON.stringify(answer);
  const bytes = Buffer.byteLength(text);
  if (bytes <= SIZES.answer) return text;
  throw new Error(`an answer of ${bytes} bytes of JSON is larger than ${SIZES.answer}`);
}
