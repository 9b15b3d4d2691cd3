/** The commands that `mucast serve` and `/docs` show, pasted into a shell. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { mucast } from "../end-to-end/commands/command.ts";
import type { Core } from "./core.testing.ts";
import { eventually } from "./eventually.testing.ts";
import type { Serving } from "./service.testing.ts";

async function welcome(serving: Serving): Promise<{ url: string; said: string }> {
  return eventually("the service prints how to use it", async () => {
    const said = serving.logs();
    const url = /^mucast listens on (\S+)$/m.exec(said)?.[1];
    return url !== undefined && /^ {2}MCP +/m.test(said) ? { url, said } : undefined;
  });
}

function curlLines(said: string): string {
  return /^ {2}curl [\s\S]*?\n\n/m.exec(said)![0];
}

async function shell(script: string, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const { stdout } = await promisify(execFile)("sh", ["-c", script], { env, timeout: 600_000 });
  return stdout;
}

export function quickStart(core: () => Core): void {
  describe("a service shows a person", () => {
    test("curl lines that run a job, even repeatedly", async () => {
      const { url, said } = await welcome(core().serving);
      assert.equal(url, core().serving.url);
      assert.match(said, /^Its data folder is \/\S+$/m);
      for (const _ of ["first", "again"]) {
        assert.match(await shell(curlLines(said)), /"status":"Succeeded","output_url":/);
      }
    });

    test("curl lines at /docs that lead to the forecasts", async () => {
      const { url } = await welcome(core().serving);
      const { info } = (await (await fetch(`${url}/openapi.json`)).json()) as {
        info: { description: string };
      };
      const lines = [...info.description.matchAll(/```sh\n([\s\S]*?)\n```/g)].map(([, line]) => line!);
      assert.equal(lines.length, 5);
      const folder = mkdtempSync(join(tmpdir(), "mucast-quick-"));
      const said = await shell(`cd ${folder}\n${lines.join("\n")}\nhead -c 2000 output.json`);
      rmSync(folder, { recursive: true });
      assert.match(said, /"status":"Succeeded"[\s\S]*"mu":\{"AAPL":/);
    });
  });
}

/** A service with keys prints how to create one, and its commands work with it. */
export async function assertQuickStartWithKeys(serving: Serving): Promise<void> {
  const { said } = await welcome(serving);
  const words = /^ {2}export MUCAST_API_KEY=\$\(mucast (.*)\)$/m
    .exec(said)![1]!
    .replaceAll("'", "")
    .split(" ");
  const { stdout } = await mucast(words);
  const answered = await shell(curlLines(said), { ...process.env, MUCAST_API_KEY: stdout.trim() });
  assert.match(answered, /"status":"Succeeded","output_url":/);
}
