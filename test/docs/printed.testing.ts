/** Compares the output that the docs show with the real output. */
import assert from "node:assert/strict";

const ID = /[0-9a-f]{8}-[0-9a-f-]{27}/g;

/** Without parts that differ between runs: ids, times, versions of blobs, and the progress that happened to be reported. */
function general(printed: string): string {
  return (
    printed
      .replaceAll("\r", "")
      // curl does not end with a line feed.
      .replaceAll("}{", "}\n{")
      .replaceAll(/^id: \d+\nevent: progress\ndata: .*\n\n/gm, "")
      .replaceAll(/^\d+ (?:read|fit|evaluate|write) \d+\n/gm, "")
      .replaceAll(/^\d+ progress\n/gm, "")
      .replaceAll(/^(id: )?\d+(?= |$)/gm, "<number>")
      .replaceAll(/"seq":\d+/g, '"seq":<number>')
      .replaceAll(ID, "<id>")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
      .replaceAll(/"etag":"[^,}]*"/g, '"etag":<etag>')
      .replaceAll(/(?<=worker-job-)[0-9a-f]{8}/g, "<job>")
      // Sums of floats may end differently if a processor adds them in another order.
      .replaceAll(/-?\d+\.\d{8,}/g, (number) => Number(number).toPrecision(6))
      .trim()
  );
}

/** @param shown by the docs; `…` stands for omitted text. */
export function assertPrinted(shown: string, printed: string, place: string): void {
  const got = general(printed);
  let at = 0;
  for (const [index, piece] of general(shown).split("…").entries()) {
    const found = index === 0 && !got.startsWith(piece) ? -1 : got.indexOf(piece, at);
    if (found < 0) assert.fail(`${place} shows\n\n${piece}\n\nof which this is left:\n\n${got.slice(at)}`);
    at = found + piece.length;
  }
  if (!shown.trim().endsWith("…")) assert.equal(got.slice(at), "", place);
}

/** The first id in the shown output, and the one at its place in the real output. */
export function idsOf(shown: string, printed: string): [shown: string, printed: string] | undefined {
  const [first] = shown.match(ID) ?? [];
  const [real] = printed.match(ID) ?? [];
  return first === undefined || real === undefined ? undefined : [first, real];
}
