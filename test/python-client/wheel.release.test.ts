/** The wheel of the Python client, installed as a user would. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { environmentFolder } from "../../src/engine/environment/environment.ts";
import { run } from "../installed-package.testing.ts";
import { CLIENT_FOLDER, clientPython } from "./python-client.testing.ts";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

test("the wheel has every module, its licence and its version, and works without the checkout", {
  timeout: 600_000,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mucast-wheel-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const build = `import os; os.chdir("${CLIENT_FOLDER}"); from hatchling.cli import hatchling; hatchling()`;
  const built = await clientPython(["-c", build, "build", "--target", "wheel", "--directory", folder]);
  assert.equal(built.code, 0, built.stderr);
  const wheel = `mucast_client-${version}-py3-none-any.whl`;
  assert.deepEqual(await readdir(folder), [wheel]);

  const site = join(folder, "site");
  const uv = join(environmentFolder("uv"), "bin", "uv");
  run(
    uv,
    ["pip", "install", "--quiet", "--no-deps", "--offline", "--target", site, join(folder, wheel)],
    folder,
  );
  const installed = await readdir(join(site, "mucast_client"));
  const modules = await readdir(join(CLIENT_FOLDER, "mucast_client"));
  assert.deepEqual(
    installed.filter((name) => name !== "__pycache__").sort(),
    modules.filter((name) => name !== "__pycache__").sort(),
  );
  const facts = join(site, `mucast_client-${version}.dist-info`);
  assert.equal(await readFile(join(facts, "licenses/LICENSE"), "utf8"), await readFile("LICENSE", "utf8"));
  const metadata = await readFile(join(facts, "METADATA"), "utf8");
  for (const line of [
    "Name: mucast-client",
    `Version: ${version}`,
    "License-Expression: Apache-2.0",
    "Requires-Python: >=3.11",
    "Requires-Dist: httpx<1,>=0.27",
    "Provides-Extra: pandas",
  ])
    assert.ok(metadata.split("\n").includes(line), `${line}\n\n${metadata}`);

  const use = "import mucast_client as m; print(m.__file__, m.Client('https://mucast.example.com'))";
  const used = await clientPython(["-c", use], { PYTHONPATH: site });
  assert.equal(used.code, 0, used.stderr);
  assert.equal(used.stdout, `${site}/mucast_client/__init__.py Client('https://mucast.example.com')\n`);
});
