/**
 * Compares infra/ with the code and with itself, as far as text allows: settings, names and parameters that both sides spell. It cannot
 * show what Azure makes of the files. Their compiler is not on npm or PyPI, and neither are the schemas of the resources, so properties,
 * API versions and types are first checked by `az bicep build` and a deployment.
 */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { jobName } from "../../src/blob/names.ts";
import { blobPolicy } from "../../src/blob/policy.ts";
import { JOB_OPERATIONS } from "../../src/contract/config/job-operations.ts";
import { settingNames, settingsSchema } from "../../src/contract/settings.ts";

const files = Object.fromEntries(
  globSync("infra/*.bicep").map((path) => [path.slice("infra/".length), readFileSync(path, "utf8")]),
);
const main = files["main.bicep"]!;
const service = files["service.bicep"]!;
const job = files["job.bicep"]!;

/** Names of a file's parameters, and whether a caller has to give them. */
function paramsOf(text: string): Map<string, { isNeeded: boolean; above: string }> {
  const found = [...text.matchAll(/((?:^@.*\n(?:^ .*\n)*)*)^param (\w+) \w+( =)?/gm)];
  return new Map(found.map(([, above, name, rest]) => [name!, { isNeeded: !rest, above: above! }]));
}

/** The text between the brace at `open` and the one that closes it. */
function block(text: string, open: number): string {
  for (let depth = 0, at = open; at < text.length; at++) {
    if (text[at] === "{") depth += 1;
    if (text[at] === "}" && --depth === 0) return text.slice(open + 1, at);
  }
  return assert.fail("a brace is not closed");
}

/** Keys of an object literal, without those of nested objects. */
function keysOf(body: string): string[] {
  let flat = body.replaceAll(/'[^']*'/g, "''").replaceAll(/\/\/.*/g, "");
  for (let before = ""; before !== flat; ) {
    before = flat;
    flat = flat.replaceAll(/[{[(][^{}[\]()]*[}\])]/g, "");
  }
  return [...flat.matchAll(/(?:^|[\n,{])\s*(\w+):/g)].map(([, key]) => key!);
}

const modules = [...main.matchAll(/^module (\w+) '([^']+)'/gm)].map(([start, name, file]) => {
  const from = main.indexOf("params: {", main.indexOf(start));
  return { name: name!, file: file!, given: keysOf(block(main, main.indexOf("{", from))) };
});

test("every module exists and gets exactly the parameters that it has", () => {
  assert.equal(modules.length, 7);
  for (const { file, given } of modules) {
    assert.ok(existsSync(`infra/${file}`), file);
    const params = paramsOf(files[file]!);
    const needed = [...params].filter(([, { isNeeded }]) => isNeeded).map(([name]) => name);
    assert.deepEqual(
      given.filter((name) => !params.has(name)),
      [],
      `${file} has no such parameter`,
    );
    assert.deepEqual(
      needed.filter((name) => !given.includes(name)),
      [],
      `${file} needs it`,
    );
  }
});

test("every output that is used exists in its module", () => {
  for (const [, name, output] of main.matchAll(/(\w+)\.outputs\.(\w+)/g)) {
    const module = modules.find((entry) => entry.name === name) ?? assert.fail(`no module ${name}`);
    assert.match(files[module.file]!, new RegExp(`^output ${output} `, "m"));
  }
});

test("braces and brackets are closed, and every parameter of a deployment is described", () => {
  for (const [file, text] of Object.entries(files)) {
    for (const [open, close] of ["{}", "[]", "()"]) {
      assert.equal(text.split(open!).length, text.split(close!).length, `${open}${close} in ${file}`);
    }
  }
  for (const [name, { above }] of paramsOf(main)) assert.match(above, /@description\('.+'\)/, name);
});

test("secrets are secure parameters and reach the service only by reference", () => {
  for (const text of Object.values(files)) {
    for (const [name, { above }] of paramsOf(text)) {
      if (/password|settingsFile/i.test(name)) assert.match(above, /@secure\(\)/, name);
    }
    assert.doesNotMatch(text, /^output .*(password|listKeys|secret)/im);
  }
  const secrets = Object.values(settingsSchema.shape).flatMap((field) => {
    const { secret, env } = settingNames.get(field) ?? {};
    return secret && env ? [env] : [];
  });
  // It connects to PostgreSQL without a pooler.
  for (const name of secrets.filter((each) => each !== "DATABASE_LISTEN_URL"))
    assert.match(service, new RegExp(`name: '${name}', secretRef: '`));
});

test("the variables of the service are settings, and it accepts its public name", () => {
  const known = Object.values(settingsSchema.shape).map((field) => settingNames.get(field)?.env);
  const set = [...service.matchAll(/name: '([A-Z][A-Z_]+)'/g)].map(([, name]) => name!);
  assert.deepEqual(
    set.filter((name) => !known.includes(name)),
    ["AZURE_CLIENT_ID", "MUCAST_SETTINGS"].sort((a, b) => set.indexOf(a) - set.indexOf(b)),
  );
  for (const name of ["MUCAST_PUBLIC_URL", "MUCAST_AUTH", "DATABASE_URL", "MUCAST_EXECUTOR"]) {
    assert.ok(set.includes(name), name);
  }
  for (const [, path] of service.matchAll(/path: '(\/\w+)'/g)) {
    const routes = globSync("src/service/http/*.ts").map((file) => readFileSync(file, "utf8"));
    assert.ok(
      routes.some((source) => source.includes(`"${path}"`)),
      path,
    );
  }
});

test("the service and the jobs read inputs from the same containers: the deployment's own and those in the parameter", () => {
  const line = "{ name: 'MUCAST_ALLOWED_BLOB_URLS', value: join(concat([blobUrl], allowedBlobUrls), ' ') }";
  for (const text of [service, job]) assert.ok(text.includes(line));
  const blobUrl = "https://account.blob.core.windows.net/forecasts";
  const [byDefault, listed] = [{}, { MUCAST_ALLOWED_BLOB_URLS: blobUrl }].map((env) =>
    blobPolicy({ BLOB_URL: blobUrl, ...env }),
  );
  assert.deepEqual(listed, byDefault, "without further containers");
});

test("a service may start as slowly as on Kubernetes, with numbers that Azure allows", () => {
  const [, period, failures] = /type: 'Startup'[\s\S]*?periodSeconds: (\d+)[\s\S]*?failureThreshold: (\d+)/
    .exec(service)!
    .map(Number);
  const deployment = readFileSync("infra/kubernetes/base/deployment.yaml", "utf8");
  const [, otherPeriod, otherFailures] =
    /startupProbe:[\s\S]*?periodSeconds: (\d+)[\s\S]*?failureThreshold: (\d+)/.exec(deployment)!.map(Number);
  assert.equal(period! * failures!, otherPeriod! * otherFailures!);
  // As the types of @azure/arm-appcontainers say of ContainerAppProbe.
  assert.ok(period! <= 240 && failures! <= 10, `${failures} times ${period} s`);
});

test("the jobs are those that the service starts, with one replica each, which Azure never retries", () => {
  const names = JOB_OPERATIONS.map(jobName);
  assert.match(main, new RegExp(`var jobNames = \\['${names.join("', '")}'\\]`));
  assert.match(job, new RegExp(`@allowed\\(\\['${names.join("', '")}'\\]\\)\nparam name`));
  assert.match(job, new RegExp(`@allowed\\(\\['${JOB_OPERATIONS.join("', '")}'\\]\\)\nparam command`));
  for (const fact of [
    "triggerType: 'Manual'",
    "parallelism: 1, replicaCompletionCount: 1",
    "replicaRetryLimit: 0",
  ]) {
    assert.ok(job.includes(fact), fact);
  }
});

test("the example deploys this version", () => {
  const example = readFileSync("infra/main.example.bicepparam", "utf8");
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  assert.ok(example.includes(`param imageTag = '${version}'`));
  for (const [, name] of example.matchAll(/^param (\w+)/gm)) assert.ok(paramsOf(main).has(name!), name);
  const needed = [...paramsOf(main)].filter(([, { isNeeded }]) => isNeeded);
  for (const [name] of needed) assert.match(example, new RegExp(`^param ${name} =`, "m"));
});

test("the systemd unit sets only known variables", () => {
  const unit = readFileSync("infra/mucast.service", "utf8");
  const known = Object.values(settingsSchema.shape).map((field) => settingNames.get(field)?.env);
  const set = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line]) =>
    line!.split(" ").map((entry) => entry.split("=")[0]!),
  );
  assert.deepEqual(
    set.filter((name) => !known.includes(name)),
    ["NODE_ENV", "XDG_CACHE_HOME"],
  );
});
