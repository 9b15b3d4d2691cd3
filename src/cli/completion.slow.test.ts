import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { mucast } from "../../test/end-to-end/commands/command.ts";
import { createProgram } from "./commands.ts";

/** What bash offers for the last of these words. */
function offered(script: string, words: readonly string[]): string[] {
  const line = `${script}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${words.length - 1}
_mucast
printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["--norc", "-c", line], { encoding: "utf8" }).trim().split("\n");
}

test("bash completes commands, flags, and the values of a flag", async () => {
  const { code, stdout, stderr } = await mucast(["completion", "bash"]);
  assert.equal(code, 0, stderr);
  assert.deepEqual(offered(stdout, ["mucast", "run"]), ["run_ml_job", "run_dl_job"]);
  assert.deepEqual(offered(stdout, ["mucast", "choose", "--me"]), ["--measure"]);
  assert.deepEqual(offered(stdout, ["mucast", "choose", "--measure", ""]), ["squared_error", "ic"]);
  assert.deepEqual(offered(stdout, ["mucast", "report", "--out", "--"]), [""]);
  assert.deepEqual(offered(stdout, ["mucast", "completion", ""]).slice(0, 3), ["bash", "zsh", "fish"]);
});

test("every name in a script is safe in a shell, and other shells are refused", async () => {
  for (const command of createProgram().commands) {
    const words = [
      command.name(),
      ...command.options.flatMap(({ long, argChoices = [] }) => [long ?? "", ...argChoices]),
      ...command.commands.map((sub) => sub.name()),
      ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    ];
    for (const word of words) assert.match(word, /^[\w./-]*$/, command.name());
  }
  const fish = (await mucast(["completion", "fish"])).stdout;
  assert.match(fish, /^complete -c mucast -n __fish_use_subcommand -f -a show -d 'print a table/m);
  assert.match(fish, /-l measure -r -f -a 'squared_error ic' -d/);
  assert.match((await mucast(["completion", "zsh"])).stdout, /^autoload -U \+X bashcompinit/);
  assert.equal((await mucast(["completion", "tcsh"])).code, 2);
});
