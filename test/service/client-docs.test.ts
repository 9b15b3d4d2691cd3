/** The examples of docs/client.md, run on a real service; what they print stands there. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { endServices, startServe } from "./service.testing.ts";

const PAGE = readFileSync("docs/client.md", "utf8");
const EXAMPLE = /```js\n(.*?)```\n\nprints\n\n```\n(.*?)```/gs;
const CLIENT = pathToFileURL("src/client/index.ts").href;
const ADDRESS = "http://127.0.0.1:8080";

after(endServices);

test("the examples of the client's page print what it says", { timeout: 120_000 }, async () => {
  const { url, folder } = await startServe();
  const examples = [...PAGE.matchAll(EXAMPLE)];
  assert.equal(examples.length, PAGE.split("```js").length - 1);
  for (const [index, [, code, printed]] of examples.entries()) {
    const file = join(folder, `example-${index}.mjs`);
    await writeFile(file, code!.replaceAll(ADDRESS, url).replaceAll("mucast/client", CLIENT));
    const child = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit"] });
    const [said, [code_]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    assert.equal(code_, 0);
    assert.equal(general(said.replaceAll(url, ADDRESS)), general(printed!));
  }
});

/** Without what differs from run to run: ids, and the progress that the machine had time to tell. */
function general(printed: string): string {
  return printed
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>")
    .replaceAll(/^\d+ (?:read|fit|evaluate|write) \d+\n/gm, "")
    .replaceAll(/^\d+ /gm, "");
}
