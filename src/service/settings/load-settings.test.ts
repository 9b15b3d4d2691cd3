import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { loadSettings } from "./load-settings.ts";

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

test("without any setting the service is on loopback with a folder of the user", () => {
  const settings = loadSettings({}, { XDG_DATA_HOME: "/home/someone/data" });
  assert.deepEqual([settings.host, settings.port, settings.auth], ["127.0.0.1", 8080, "none"]);
  assert.deepEqual(
    [settings.data_dir, settings.blob_url],
    ["/home/someone/data/mucast", "/home/someone/data/mucast/blobs"],
  );
});

test("an empty HOME does not put the data into the folder that is current", () => {
  const { data_dir } = loadSettings({}, { HOME: "", XDG_DATA_HOME: "" });
  assert.equal(data_dir, join(userInfo().homedir, ".local/share/mucast"));
});

test("a flag goes before the environment, and that before the file", () => {
  const settings = settingsFile({ port: 1, host: "127.0.0.3", retention_days: 7 });
  const env = { MUCAST_PORT: "2", MUCAST_HOST: "127.0.0.2", MUCAST_LOG_LEVEL: "" };
  const loaded = loadSettings({ settings, port: "3" }, env);
  assert.deepEqual([loaded.port, loaded.host, loaded.retention_days], [3, "127.0.0.2", 7]);
  assert.equal(loadSettings({}, { ...env, MUCAST_SETTINGS: settings }).retention_days, 7);
});

test("a blank flag is refused, and a blank variable is none", () => {
  for (const [key, flag] of [
    ["port", "--port"],
    ["data_dir", "--data-dir"],
    ["settings", "--settings"],
  ] as const) {
    for (const blank of ["", " "]) {
      assert.throws(
        () => loadSettings({ [key]: blank }, {}),
        (error) =>
          error instanceof MucastError && error.code === "invalid_request" && error.message.includes(flag),
      );
    }
  }
  assert.equal(loadSettings({}, { MUCAST_PORT: " " }).port, loadSettings({}, {}).port);
});

test("a list is words in a variable and an array in the file", () => {
  const env = { MUCAST_ALLOWED_HOSTS: "a.example, b.example:81" };
  assert.deepEqual(loadSettings({}, env).allowed_hosts, ["a.example", "b.example:81"]);
  const settings = settingsFile({ allowed_hosts: ["c.example"] });
  assert.deepEqual(loadSettings({ settings }, {}).allowed_hosts, ["c.example"]);
});

test("every fault is told at once, by the name under which its value came", () => {
  const settings = settingsFile({ prot: 1, retention_days: 0 });
  const { data } = faultOf(() => loadSettings({ settings, port: "x" }, { MUCAST_AUTH: "maybe" }));
  const paths = data.faults!.map(({ path }) => path).join("\n");
  for (const place of ["--port", "MUCAST_AUTH", `${settings}: retention_days`, "prot"]) {
    assert.ok(paths.includes(place), `${place} in ${paths}`);
  }
  assert.ok(data.faults!.some(({ suggestion }) => suggestion === "port"));
});

test("a public URL is a plain one", () => {
  for (const url of [
    "https://a.example/?x=1",
    "https://a.example/#x",
    "https://me:pw@a.example",
    "ftp://a.example",
  ]) {
    assert.match(faultOf(() => loadSettings({ public_url: url }, {})).message, /^--public-url: /);
  }
});

test("the value of a secret is in no error", () => {
  const env = { DATABASE_URL: "mysql://user:hunter2@host/db" };
  const webhooks = [{ name: "a", url: "https://a.example", secret: "hunter2" }];
  const error = faultOf(() => loadSettings({ settings: settingsFile({ webhooks }) }, env));
  assert.match(error.message, /DATABASE_URL/);
  assert.doesNotMatch(JSON.stringify([error.message, error.data]), /hunter2/);
});

test("a settings file that cannot be read, or is no object, is named", () => {
  assert.match(
    faultOf(() => loadSettings({ settings: "/nowhere.json" }, {})).message,
    /\/nowhere\.json.*ENOENT/,
  );
  assert.match(faultOf(() => loadSettings({ settings: settingsFile("[]") }, {})).message, /no JSON object/);
  assert.match(faultOf(() => loadSettings({ settings: settingsFile("{") }, {})).message, /settings\.json/);
});
