import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";

const read = (path: string) => readFileSync(path, "utf8");

test("development, the images and the dev container use the same Node", () => {
  const { optionalDependencies } = JSON.parse(read("tools/node/package.json"));
  const found = {
    ".nvmrc": read(".nvmrc").trim(),
    Dockerfile: /NODE_IMAGE=node:([\d.]+)-/.exec(read("Dockerfile"))?.[1],
    ".devcontainer/Dockerfile": /^FROM node:([\d.]+)-/m.exec(read(".devcontainer/Dockerfile"))?.[1],
  };
  for (const version of new Set(Object.values(optionalDependencies)))
    for (const [file, its] of Object.entries(found)) assert.equal(its, version, file);
});

test("workflows pin actions by commit, and run what a developer runs", () => {
  for (const file of globSync(".github/workflows/*.yml")) {
    for (const [, action] of read(file).matchAll(/uses: (.*)/g))
      assert.match(action!, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v[\d.]+$/, file);
  }
  assert.match(read(".github/workflows/ci.yml"), /^ +- run: \.ci\/run$/m);
});

test("no command of a workflow contains an expression, such as the name of a tag, and permissions begin with reading", () => {
  for (const file of globSync(".github/workflows/*.yml")) {
    const text = read(file);
    assert.match(text, /^permissions:\n {2}contents: read\n\n/m, file);
    for (const line of text.split("\n").filter((each) => each.includes("${{")))
      assert.match(line, /^ +(?:- )?(?!run:)[\w-]+: \S*\$\{\{/, `${file}: commands read variables`);
  }
});

test("the release workflow calls the commands of the release script, and marks what no test can run", () => {
  const workflow = read(".github/workflows/release.yml");
  const usage = read("scripts/release.ts");
  const called = [...workflow.matchAll(/(?:npm run release --|node scripts\/release\.ts) ([\w-]+)/g)].map(
    ([, name]) => name!,
  );
  assert.deepEqual([...new Set(called)], ["check", "prepare", "build-args"]);
  for (const name of called) assert.match(usage, new RegExp(`^.*npm run release -- ${name} `, "m"));
  const steps = workflow.split(/^ {6}- /m);
  for (const step of steps.filter(
    (text) => /\b(?:docker|cosign|gh|npm publish) [a-z]/.test(text) && /run:/.test(text),
  ))
    assert.match(step, /^name: .* \(not run\)$/m, step);
});

test("the pre-commit hook runs the quick checks, and Git can start it", () => {
  assert.match(read("scripts/hooks/pre-commit"), /^exec npm run --silent check$/m);
  assert.ok(statSync("scripts/hooks/pre-commit").mode & 0o100);
});

test("the set-up installs the optional packages too, whatever Node npm itself runs on", () => {
  const { optionalDependencies } = JSON.parse(read("package.json"));
  const missing = Object.keys(optionalDependencies).filter((name) => !existsSync(`node_modules/${name}`));
  assert.deepEqual(missing, []);
});
