import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { mucast } from "../../test/end-to-end/commands/command.ts";
import { chosenOutputsSchema } from "../contract/output/choice.ts";
import { dlText, mlText } from "../outputs/outputs.testing.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-choose-"));
after(() => rmSync(folder, { recursive: true }));

function written(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

test("choose prints the candidates and the members by date, or JSON; outputs without the rows end with 2", async () => {
  const market = { fitRows: 250, folds: 8 };
  const first = written("ml_engine_1.json", mlText(market));
  const second = written("ml_engine_2.json", mlText({ ...market, skill: 0.3, seed: 2 }));
  const network = written("nn_engine_3.json", dlText({ ...market, skill: 0.2, seed: 3 }));
  const { code, stdout, stderr } = await mucast(["choose", "--output", first, second]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^1 ridge \(2\) .* yes$/m);
  assert.match(
    stdout,
    /^Compared on .* \(160 dates\)\. Figures are over 120 of these dates; the other 40 only choose\.$/m,
  );
  assert.match(stdout, /^chosen in advance /m);
  assert.match(stdout, /^at the end +1$/m);
  const json = await mucast(["choose", "--output", first, second, network, "--rows", "score", "--json"]);
  const { candidates, best } = chosenOutputsSchema.parse(JSON.parse(json.stdout));
  assert.deepEqual([candidates.map(({ output }) => output), best], [[first, second, network], 1]);
  const byIc = await mucast(["choose", "--output", first, second, "--measure", "ic"]);
  assert.match(byIc.stdout, /a mean IC /);
  const refused = await mucast(["choose", "--output", first, network]);
  assert.deepEqual([refused.code, refused.stdout], [2, ""]);
  assert.match(refused.stderr, /nn_engine_3\.json cannot be chosen: it has no out-of-fold rows/);
  const alone = await mucast(["choose", "--output", first]);
  assert.match(alone.stderr, /1 output is named; name 2 to 100/);
});
