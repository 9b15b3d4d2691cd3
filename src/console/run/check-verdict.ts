import type { VNode } from "preact";
import type { AuditBlob, OperationView, ReplayBlob } from "../../client/index.ts";
import type { VerdictView } from "../../contract/api/operation-view.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { type Fact, facts } from "../../view/panel.ts";
import { bdi, code } from "../../view/text.ts";
import { Loaded, useView } from "../view.ts";
import { ownOf } from "../words.ts";

/** The findings of an audit or a replay. */
export function CheckVerdict({ operation: { id } }: { readonly operation: OperationView }): VNode {
  const { client, signal } = useView();
  return html`<section><h2>Verdict</h2>${h(Loaded<VerdictView>, {
    read: () => client.getVerdict(id, { signal }),
    show: ({ audit, replay }) => (audit !== undefined ? auditOf(audit) : replayOf(replay!)),
  })}</section>`;
}

const CHECK_WORDS: Readonly<Record<string, string>> = {
  clean: "clean",
  found: "has findings",
  not_run: "not run",
};

function auditOf({ verdict, sentence, checks, findings, finding_counts, blind_spots }: AuditBlob): VNode {
  const count = Object.values(finding_counts).reduce((sum, each) => sum + each, 0);
  const more = count - findings.length;
  const title =
    verdict === "clean"
      ? "No check found look-ahead in the inputs."
      : `${countedRows(count, "finding")}: the inputs may contain future data, or the job cannot be trusted.`;
  const found = Object.entries(checks).map(([name, check]): Fact | false => {
    if (check === undefined) return false;
    const words = ownOf(CHECK_WORDS, check.status) ?? check.status;
    return check.reason === undefined ? [name, words] : [name, `${words}: `, bdi(check.reason, 300)];
  });
  return html`<p class=${verdict === "clean" ? "good" : "failed"}><strong>${title}</strong></p>
    ${sentence !== undefined && html`<p>${bdi(sentence, 500)}</p>`}
    ${facts(found)}
    ${
      findings.length > 0 &&
      html`<ol class="findings">${findings.map(
        ({ severity, code: name, message, advice }) => html`<li>
        <p><strong>${bdi(severity, 20)}</strong> ${code(name)}</p>
        <p>${bdi(message, 500)}</p>
        <p class="hint">What to do: ${bdi(advice, 500)}</p>
      </li>`,
      )}</ol>`
    }
    ${more > 0 && html`<p class="hint">and ${more} more</p>`}
    <details><summary>What these checks cannot see</summary>
      <ul>${blind_spots.map((each) => html`<li>${bdi(each, 500)}</li>`)}</ul>
    </details>`;
}

const REPLAY_WORDS: Readonly<Record<string, readonly [kind: string, words: string]>> = {
  identical: ["good", "The job gave the same bytes again: the output is confirmed."],
  differs: ["failed", "The job gave a different output this time."],
  cannot_replay: ["failed", "The job could not be run again."],
};

function replayOf({ verdict, reason, output, compared, differences }: ReplayBlob): VNode {
  const [kind, words] = ownOf(REPLAY_WORDS, verdict) ?? ["", verdict];
  return html`<p class=${kind}><strong>${words}</strong></p>
    ${
      reason &&
      html`<p>${code(reason.code)} ${bdi(reason.message, 1_000)}</p>
      <p><strong>What to do:</strong> ${bdi(reason.advice, 500)}</p>`
    }
    ${facts([
      ["Output", code(output.url)],
      ["SHA-256 of the output", code(output.sha256)],
      compared !== undefined && ["Numbers compared", figure(compared.numbers, "count")],
      differences !== undefined && ["Numbers that differ", figure(differences.numbers, "count")],
      differences !== undefined && ["First difference", code(differences.first.path)],
    ])}`;
}
