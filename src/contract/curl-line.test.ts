import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { curlLine, quoted } from "./curl-line.ts";

/** The words that a shell makes of a command. */
function wordsOf(line: string): string[] {
  const env = { ...process.env, MUCAST_API_KEY: "key" };
  return execFileSync("sh", ["-c", `printf '%s\\0' ${line}`], { env, encoding: "utf8" })
    .split("\0")
    .slice(0, -1);
}

test("any text is one word of a shell", () => {
  assert.equal(quoted('it\'s; $(rm -rf /) `x` \\ "!" \n'), "'it'\\''s; $(rm -rf /) `x` \\ \"!\" \n'");
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("'", '"', "\\", "$", "`", "!", "\n", " ", "a", "|") }),
      (text) => assert.deepEqual(wordsOf(quoted(text)), [text]),
    ),
    { numRuns: 30 },
  );
});

test("a curl line is quoted for the shell", () => {
  const json = { "Content-Type": "application/json" };
  assert.equal(
    curlLine({ method: "POST", url: "http://h/v1/x", headers: json, body: `{"a": "it's"}` }),
    `curl -sS http://h/v1/x \\\n  -H 'Content-Type: application/json' \\\n  --data-raw '{"a": "it'\\''s"}'`,
  );
  assert.equal(curlLine({ method: "POST", url: "http://h/$ID" }), 'curl -sS -X POST "http://h/$ID"');
  assert.equal(curlLine({ method: "DELETE", url: "http://h/$(x)" }), "curl -sS -X DELETE 'http://h/$(x)'");
  const sent = curlLine({ method: "POST", url: "http://h/v1/prepare", body: { file: "prices.csv" } });
  assert.equal(sent, "curl -sS --data-binary @prices.csv http://h/v1/prepare");
  assert.equal(curlLine({ method: "GET", url: "http://h/?a=1&b=2" }), "curl -sS 'http://h/?a=1&b=2'");
  assert.equal(
    curlLine({ method: "PUT", url: "http://h/data/a", hasKey: true, body: { from: "http://h/a" } }),
    'curl -sS http://h/a | curl -sS -T - -H "Authorization: Bearer $MUCAST_API_KEY" http://h/data/a',
  );
  assert.equal(
    curlLine({ method: "GET", url: "http://h/events", isStream: true }),
    "curl -sSN http://h/events",
  );
});

test("the files of a form are parts, also under names that end early for curl", () => {
  const form = { prices: "prices.csv", features: 'a "b"; c, d\\e.csv' };
  assert.deepEqual(wordsOf(curlLine({ method: "POST", url: "http://x/", body: { form } })), [
    ...["curl", "-sS", "-F", "prices=@prices.csv", "-F", 'features=@"a \\"b\\"; c, d\\\\e.csv"'],
    "http://x/",
  ]);
});
