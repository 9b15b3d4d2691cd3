import type { RefitSettings } from "../../contract/config/refit-settings.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";

/** Score rows of a block whose own model could not be fitted. */
export interface FailedRefit {
  readonly block: number;
  readonly rows: number;
  /** Text of the error. */
  readonly message: string;
}

/** The warning that models of earlier blocks are used instead. @param ticker undefined for one model of all tickers. */
export function failedRefits(failed: readonly FailedRefit[], ticker?: string): Warning[] {
  const [first] = failed;
  if (first === undefined) return [];
  const count = new Set(failed.map(({ block }) => block)).size;
  const rows = failed.reduce((sum, one) => sum + one.rows, 0);
  const summary = `${counted(count, "refit")} failed, and the ${count === 1 ? "model" : "models"} before forecast ${counted(rows, "row")}`;
  const subject = ticker === undefined ? "" : `${ticker}: `;
  return [
    {
      code: "failed_refit",
      ...(ticker === undefined ? {} : { ticker }),
      count,
      message: `${subject}${summary}. The first error: ${first.message}`,
    },
  ];
}

/** The warning that there is nothing to refit for. */
export function noRefit(
  blocks: readonly RefitBlock[],
  { refitEvery }: Pick<RefitSettings, "refitEvery">,
): readonly Warning[] {
  if (refitEvery === undefined || blocks.length > 1) return [];
  const message = `refit_every ${refitEvery} changes nothing: the score rows lie on ${counted(refitEvery, "date")} or fewer.`;
  return [{ code: "no_refit", message }];
}
