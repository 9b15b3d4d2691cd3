import type { AuditBlob, ReplayBlob } from "../../../client/index.ts";
import { figure } from "../../../view/figures.ts";
import { element, fill } from "../../dom.ts";
import { errorBox } from "../../problem.ts";
import type { ViewContext } from "../../view.ts";
import { code, counted, type Fact, facts, textElement } from "../../words.ts";
import type { Panel } from "./panel.ts";

/** Maximum number of listed findings; the blob has all that the audit lists. */
const MAX_FINDINGS = 50;

/** The findings of an audit or a replay. */
export function verdictPanel({ client, signal }: ViewContext): Panel {
  const section = element("section", { hidden: true });
  return {
    element: section,
    show: ({ operation: { id, operation, result } }) => {
      if (result === null || !(operation === "audit" || operation === "replay") || !section.hidden) return;
      section.hidden = false;
      const title = () => element("h2", {}, "Verdict");
      fill(section, title(), element("p", { class: "hint" }, "Reading the verdict\u2026"));
      client.getVerdict(id, { signal }).then(
        ({ audit, replay }) => {
          if (audit !== undefined) fill(section, title(), ...auditOf(audit));
          else if (replay !== undefined) fill(section, title(), ...replayOf(replay));
        },
        (error: unknown) => {
          if (!signal.aborted) fill(section, title(), errorBox(error));
        },
      );
    },
  };
}

const CHECK_WORDS: Readonly<Record<string, string>> = {
  clean: "clean",
  found: "has findings",
  not_run: "not run",
};

function auditOf({
  verdict,
  sentence,
  checks,
  findings,
  finding_counts,
  blind_spots,
}: AuditBlob): HTMLElement[] {
  const count = Object.values(finding_counts).reduce((sum, each) => sum + each, 0);
  const listed = findings.slice(0, MAX_FINDINGS);
  const title =
    verdict === "clean"
      ? "No check found look-ahead in the inputs."
      : `${counted(count, "finding")}: the inputs may contain future data, or the job cannot be trusted.`;
  return [
    element("p", { class: verdict === "clean" ? "good" : "failed" }, element("strong", {}, title)),
    ...(sentence === undefined ? [] : [element("p", {}, textElement(sentence, 500))]),
    facts(
      ...Object.entries(checks).flatMap(([name, check]): Fact[] => {
        if (check === undefined) return [];
        const words = CHECK_WORDS[check.status] ?? check.status;
        return [
          check.reason === undefined ? [name, words] : [name, `${words}: `, textElement(check.reason, 300)],
        ];
      }),
    ),
    ...(listed.length === 0
      ? []
      : [
          element(
            "ol",
            { class: "findings" },
            ...listed.map(({ severity, code: name, message, advice }) =>
              element(
                "li",
                {},
                element("p", {}, element("strong", {}, textElement(severity, 20)), " ", code(name)),
                element("p", {}, textElement(message, 500)),
                element("p", { class: "hint" }, "What to do: ", textElement(advice, 500)),
              ),
            ),
          ),
        ]),
    ...(count > listed.length
      ? [
          element(
            "p",
            { class: "hint" },
            `and ${count - listed.length} more; download the verdict to see all`,
          ),
        ]
      : []),
    element(
      "details",
      {},
      element("summary", {}, "What these checks cannot see"),
      element("ul", {}, ...blind_spots.map((each) => element("li", {}, textElement(each, 500)))),
    ),
  ];
}

const REPLAY_WORDS: Readonly<Record<string, readonly [kind: string, words: string]>> = {
  identical: ["good", "The job gave the same bytes again: the output is confirmed."],
  differs: ["failed", "The job gave a different output this time."],
  cannot_replay: ["failed", "The job could not be run again."],
};

function replayOf({ verdict, reason, output, compared, differences }: ReplayBlob): HTMLElement[] {
  const [kind, words] = REPLAY_WORDS[verdict] ?? ["", verdict];
  return [
    element("p", { class: kind }, element("strong", {}, words)),
    ...(reason === undefined
      ? []
      : [
          element("p", {}, code(reason.code), " ", textElement(reason.message, 1_000)),
          element("p", {}, element("strong", {}, "What to do: "), textElement(reason.advice, 500)),
        ]),
    facts(
      ["Output", code(output.url)],
      ["SHA-256 of the output", code(output.sha256)],
      compared !== undefined && ["Numbers compared", figure(compared.numbers, "count")],
      differences !== undefined && ["Numbers that differ", figure(differences.numbers, "count")],
      differences !== undefined && ["First difference", code(differences.first.path)],
    ),
  ];
}
