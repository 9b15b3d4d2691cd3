import assert from "node:assert/strict";
import { test } from "node:test";
import { printable } from "./wording.ts";

test("escapes characters that control a terminal or end a line, and keeps all others", () => {
  assert.equal(printable("\u001b[31mA\nerror: fake\r\u0085"), "\\u001b[31mA\\u000aerror: fake\\u000d\\u0085");
  assert.equal(printable("right-to-left \u202e, tag \u{E0041}"), "right-to-left \\u202e, tag \\udb40\\udc41");
  assert.equal(printable("A\u2028error: fake\u2029"), "A\\u2028error: fake\\u2029");
  for (const plain of ["BRK.B", "Å Ω 株式 \u{1F600}", '{"a": 1}']) assert.equal(printable(plain), plain);
});
