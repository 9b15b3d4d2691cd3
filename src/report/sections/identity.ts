import type { VNode } from "preact";
import { formatDay } from "../../contract/market/dates.ts";
import type { OutputSummary } from "../../outputs/output-summary.ts";
import { countedRows } from "../../view/figures.ts";
import { facts } from "../../view/panel.ts";
import { bdi } from "../../view/text.ts";
import { JUDGED_ROWS, spanOf } from "../evidence/output-evidence.ts";
import type { Report, ReportedOutput } from "../evidence/reported-outputs.ts";

/** What tells an output from every other one, in the order in which a reader asks. */
interface Identity {
  readonly name: string;
  /** Names with values as untrusted text. */
  readonly facts: readonly (readonly [name: string, value: string])[];
}

export function identityOf({ name, whole, common }: ReportedOutput): Identity {
  const { document, rows } = whole;
  const { id, window, tags } = document;
  const span = spanOf(common);
  const scored = span === undefined ? "nothing yet" : span.map(formatDay).join(" to ");
  return {
    name,
    facts: [
      ["Fit", fitOf(document)],
      ["Tickers", String(rows.length)],
      ["As of", window.as_of],
      ["Learned until", window.learning_end ?? window.as_of],
      [common.judgedRows === "score" ? "Scored" : `Scored, ${JUDGED_ROWS[common.judgedRows]}`, scored],
      tags === undefined || tags.length === 0 ? ["Data", dataOf(document)] : ["Tags", tags.join(", ")],
      ["Run", id],
    ],
  };
}

/** The kind of fit, such as `per ticker, refitted every 63 dates, half-life 2`. */
export function fitOf({
  model,
  pooled,
  operation,
}: Pick<OutputSummary, "model" | "pooled" | "operation">): string {
  const isJoint =
    operation === "run_dl_job" && typeof model.model === "string" && model.model.startsWith("portfolio_");
  const parts = [pooled !== undefined ? "pooled" : isJoint ? "joint" : "per ticker"];
  const { training_params: params, refit_every: every, smoothing } = model;
  const ensemble =
    typeof params === "object" && params !== null && "ensemble" in params ? params.ensemble : model.ensemble;
  if (typeof ensemble === "number" && ensemble > 1) parts.push(`ensemble of ${ensemble}`);
  if (typeof every === "number") parts.push(`refitted every ${countedRows(every, "date")}`);
  if (typeof smoothing === "object" && smoothing !== null && "half_life" in smoothing)
    parts.push(`half-life ${smoothing.half_life}`);
  return parts.join(", ");
}

/** The names of the input blobs without their folders; a query may hold a secret. */
function dataOf({ provenance }: Pick<OutputSummary, "provenance">): string {
  const names = [provenance.feature_url, provenance.data_extractor_url].map(
    (url) => /([^/\\]+)[/\\]*$/.exec(url.replace(/[?#].*$/s, ""))?.[1] ?? url,
  );
  return [...new Set(names)].join(", ");
}

/** The title of the browser's tab: what differs between two reports comes first. */
export function documentTitle({ outputs }: Report): string {
  return outputs
    .map((output) => {
      const { name, facts: named } = identityOf(output);
      return [
        name,
        ...named.map(([fact, value]) => (fact === "Fit" ? value : `${fact.toLowerCase()} ${value}`)),
      ];
    })
    .map((parts) => parts.join(" \u00b7 "))
    .join(" | ");
}

export function identities({ outputs }: Report): VNode[] {
  return outputs.map((output) => {
    const { name, facts: named } = identityOf(output);
    const pairs = named.map(([fact, value]) => [fact, bdi(value)] as const);
    return facts([outputs.length > 1 && ["Output", bdi(name)], ...pairs], "identity");
  });
}
