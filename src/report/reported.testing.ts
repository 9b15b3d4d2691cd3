import { createHash } from "node:crypto";
import { readOutput } from "../client/read-output.ts";
import { outputDocument } from "../outputs/outputs.testing.ts";
import { checkedEvidence } from "./evidence/check-metrics.ts";
import { type CheckedOutput, type Report, reportOf } from "./evidence/reported-outputs.ts";

/** A report on outputs that are given as JSON texts. */
export function reported(...texts: readonly string[]): Report {
  return reportOf(texts.map(outputNamed));
}

function outputNamed(text: string, index: number): CheckedOutput {
  const sha256 = createHash("sha256").update(text).digest("hex");
  const document = outputDocument(`output_${index + 1}.json`, sha256, readOutput(JSON.parse(text)));
  const evidence = checkedEvidence(document);
  return { evidence, replay: undefined, audit: undefined };
}
/** A panel of a page, as its reader sees it. */
export interface SeenPanel {
  readonly title: string;
  readonly sentence: string;
  /** The cells of its tables, row by row, without heads. */
  readonly rows: readonly (readonly string[])[];
  readonly html: string;
}

export function panelsOn(html: string): SeenPanel[] {
  return [...html.matchAll(/<figure[^>]*>.*?<\/figure>/gs)].map(([figure]) => {
    const [, title = "", sentence = ""] = /<figcaption>(?:<h3>(.*?)<\/h3>)?<p>(.*?)<\/p>/s.exec(figure) ?? [];
    return { title: textOf(title), sentence: textOf(sentence), rows: rowsOf(figure), html: figure };
  });
}

/** The cells of each row of the tables in a part of a page, without heads. */
export function rowsOf(html: string): string[][] {
  const rows = [...html.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row]) =>
    [...row!.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell]) => textOf(cell!)),
  );
  const heads = [...html.matchAll(/<thead><tr>/g)].length;
  return heads === 0 ? rows : rows.filter((_, i) => i > 0);
}

/** The text of a part of a page, without its tags. */
export function textOf(html: string): string {
  return html
    .replace(/<[^>]*>/g, "")
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** A figure of a page as a number. */
export function numberOf(text = ""): number {
  return Number(text.replace("\u2212", "-").replace(/[^-\d.]/g, ""));
}
