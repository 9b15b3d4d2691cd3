import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { settingNames, settingsSchema } from "../../contract/settings.ts";
import { isEveryAddress } from "../service-address.ts";
import { secretHider } from "../telemetry/log.ts";
import { loadSettings, secretsOf } from "./load-settings.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-settings-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function settingsFile(content: unknown): string {
  const path = join(folder, "settings.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

function faultOf(body: () => unknown): MucastError {
  try {
    body();
  } catch (error) {
    assert.ok(error instanceof MucastError, String(error));
    return error;
  }
  throw new Error("nothing was thrown");
}

test("every address of the machine is told apart from a single one", () => {
  const listensOnAll = (host: string) => isEveryAddress({ host });
  for (const host of ["0.0.0.0", "::", "[::]", "0:0:0:0:0:0:0:0"]) assert.ok(listensOnAll(host), host);
  for (const host of ["127.0.0.1", "192.0.2.7", "::1", "[::1]", "fe80::1%eth0", "localhost", "forecaster"])
    assert.ok(!listensOnAll(host), host);
});

test("a flag takes precedence over the environment, and the environment over the file", () => {
  const settings = settingsFile({ port: 1, host: "127.0.0.3", retention_days: 7 });
  const env = { MUCAST_PORT: "2", MUCAST_HOST: "127.0.0.2", MUCAST_LOG_LEVEL: "" };
  const loaded = loadSettings({ settings, port: "3" }, env);
  assert.deepEqual([loaded.port, loaded.host, loaded.retention_days], [3, "127.0.0.2", 7]);
  assert.equal(loadSettings({}, { ...env, MUCAST_SETTINGS: settings }).retention_days, 7);
});

test("a blank flag is refused, and a blank variable counts as unset", () => {
  for (const key of ["port", "settings"])
    assert.match(faultOf(() => loadSettings({ [key]: " " }, {})).message, new RegExp(`--${key}: is empty`));
  assert.equal(loadSettings({}, { MUCAST_PORT: " " }).port, loadSettings({}, {}).port);
});

test("a list is written as words in a variable and as an array in the file", () => {
  const env = { MUCAST_ALLOWED_HOSTS: "a.example, b.example:81" };
  assert.deepEqual(loadSettings({}, env).allowed_hosts, ["a.example", "b.example:81"]);
  const settings = settingsFile({ allowed_hosts: ["c.example"] });
  assert.deepEqual(loadSettings({ settings }, {}).allowed_hosts, ["c.example"]);
});

test("all faults are reported at once, each with the flag, variable or file of its value", () => {
  const settings = settingsFile({ prot: 1, retention_days: 0, constructor: 1 });
  const { data } = faultOf(() => loadSettings({ settings, port: "x" }, { MUCAST_AUTH: "maybe" }));
  const paths = data.faults!.map(({ path }) => path).join("\n");
  for (const place of ["--port", "MUCAST_AUTH", `${settings}: retention_days`, "prot", "constructor"]) {
    assert.ok(paths.includes(place), `${place} in ${paths}`);
  }
  assert.ok(data.faults!.some(({ suggestion }) => suggestion === "port"));
});

test("no error shows the value of a secret", () => {
  const env = { DATABASE_URL: "mysql://user:hunter2@host/db" };
  const webhooks = [{ name: "a", url: "https://a.example", secret: "hunter2" }];
  const error = faultOf(() => loadSettings({ settings: settingsFile({ webhooks }) }, env));
  assert.match(error.message, /DATABASE_URL/);
  assert.doesNotMatch(JSON.stringify([error.message, error.data]), /hunter2/);
});

test("the error of a settings file that cannot be read, or is not an object, names it", () => {
  for (const [settings, words] of [
    ["/nowhere.json", /\/nowhere\.json.*ENOENT/],
    [settingsFile("[]"), /is not a JSON object/],
  ] as const)
    assert.match(faultOf(() => loadSettings({ settings }, {})).message, words);
  assert.match(faultOf(() => loadSettings({ settings: settingsFile("{") }, {})).message, /settings\.json/);
});

test("the text of every setting that is a secret is hidden, and the password of a database in every spelling", () => {
  for (const [url, text] of [
    ["postgresql://u:s3cret-word@db/x", "s3cret-word"],
    ["postgresql://u:s3cret%2Fword@db/x", "s3cret/word"],
    ["postgresql://u:s3cret%zzword@db/x", "s3cret%zzword"],
    ["postgresql://u:s3cret%ffword@db/x", "s3cret%ffword"],
    // Only its driver can parse it.
    ["postgresql://u:s3cret-word@/x?host=/run/postgresql", "postgresql://u:s3cret-word@/x"],
  ] as const) {
    const hide = secretHider(secretsOf(settingsSchema.parse({ database_url: url }), {}));
    assert.ok(!hide(`{"msg":"of ${text}"}`).includes("cret"), url);
  }
  for (const [key, field] of Object.entries(settingsSchema.shape)) {
    if (!settingNames.get(field)?.secret || key === "webhooks") continue;
    const secrets = secretsOf({ ...settingsSchema.parse({}), [key]: "s3cret-text" }, {});
    assert.deepEqual(secrets, ["s3cret-text"], key);
  }
});
