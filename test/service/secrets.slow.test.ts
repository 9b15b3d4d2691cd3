/**
 * The test passes a secret wherever the service accepts one, and searches for it wherever the service writes: answers, events, logs,
 * outputs, files, the database once the operations have ended, and the command lines of processes.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Client } from "pg";
import { mucast } from "../end-to-end/commands/command.ts";
import { type Postgres, startPostgres } from "../servers/postgres.testing.ts";
import { type Answer, Api, collect } from "./api.testing.ts";
import { hold, release } from "./core.testing.ts";
import { FEATURES, PRICES, payload, RIDGE } from "./inputs.testing.ts";
import { allProcesses } from "./processes.testing.ts";
import { endServices, type Serving, serviceFolder, startServe } from "./service.testing.ts";
import { type FakeStorage, startFakeStorage } from "./storage.testing.ts";

const planted = (what: string) => `planted${what}${randomBytes(12).toString("hex")}`;
const SIGNATURE = planted("Sas");
const SESSION_TOKEN = planted("Session");
/** Of a SAS, and of a presigned URL of S3. */
const SAS = `?sv=2024-11-04&se=2030-01-01&sr=c&sp=r&sig=${SIGNATURE}%3D&X-Amz-Signature=${SIGNATURE}&X-Amz-Security-Token=${SESSION_TOKEN}%3D`;
const ACCOUNT_KEY = Buffer.from(planted("AccountKey")).toString("base64");
const CONNECTION = `DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=${ACCOUNT_KEY};EndpointSuffix=core.windows.net`;
const SECRET_KEY = planted("SecretKey");
const TRACKER_TOKEN = planted("Tracker");
const WEBHOOK_KEY = Buffer.from(planted("Webhook")).toString("base64");

describe("the service writes no secret", { timeout: 600_000 }, () => {
  let postgres: Postgres;
  let storage: FakeStorage;
  let serving: Serving;
  let databaseUrl: string;
  const secrets = new Map<string, string>([
    ["the signature of a payload's URL", SIGNATURE],
    ["the token of a presigned URL", SESSION_TOKEN],
    ["the key of the storage account", ACCOUNT_KEY],
    ["the secret key of S3", SECRET_KEY],
    ["the key of a webhook", WEBHOOK_KEY],
    ["the token of a tracker", TRACKER_TOKEN],
  ]);
  const answers: string[] = [];
  const outputs: string[] = [];

  before(async () => {
    postgres = await startPostgres();
    storage = await startFakeStorage();
    databaseUrl = await postgres.newDatabase();
    secrets.set("the password of the database", new URL(databaseUrl).password);
    const folder = await serviceFolder();
    const settings = join(folder, "settings.json");
    const target = { name: "gone", url: "http://127.0.0.1:9/hook", secret: `whsec_${WEBHOOK_KEY}` };
    await writeFile(settings, JSON.stringify({ webhooks: [target] }));
    serving = await startServe({
      folder,
      args: ["--settings", settings],
      env: {
        ...storage.env,
        DATABASE_URL: databaseUrl,
        AZURE_STORAGE_CONNECTION_STRING: CONNECTION,
        AWS_SECRET_ACCESS_KEY: SECRET_KEY,
        // Nothing listens there.
        MLFLOW_TRACKING_URI: "http://127.0.0.1:9",
        MLFLOW_TRACKING_TOKEN: TRACKER_TOKEN,
        MUCAST_AUTH: "keys",
        MUCAST_LOG_LEVEL: "trace",
      },
    });
    await useTheService();
  });
  after(async () => {
    await endServices();
    await storage?.stop();
    await postgres?.stop();
  });

  async function newKey(): Promise<string> {
    const args = ["keys", "create", "--name", "planted", "--data-dir", serving.dataDir];
    const { code, stdout, stderr } = await mucast(args, { env: { DATABASE_URL: databaseUrl } });
    assert.equal(code, 0, stderr);
    answers.push(stderr);
    return /mucast_[0-9a-f]{16}_[\w-]{43}/.exec(stdout)![0];
  }

  /** Everything that callers do, valid and invalid, with secrets. */
  async function useTheService(): Promise<void> {
    const key = await newKey();
    secrets.set("an API key", key.split("_").slice(2).join("_"));
    const api = new Api(serving.url, { authorization: `Bearer ${key}` });
    const note = (answer: Answer) => {
      answers.push(answer.text, JSON.stringify([...answer.headers]));
      return answer;
    };
    for (const [name, text, behaviour] of [
      ["good", FEATURES, { kind: "serve" }],
      ["refused", FEATURES, { kind: "status", status: 403 }],
      ["redirected", FEATURES, { kind: "redirect", location: `http://127.0.0.1:1/${SAS}` }],
    ] as const) {
      storage.put(`feature_engine_${name}.json`, text, behaviour);
      storage.put(`data_extractor_${name}.json`, PRICES);
    }
    hold(storage, "held");
    const ids: string[] = [];
    const config = `{"ML params": {"model": "ridge"}, "other": {"url": "https://a.example/c/x.json${SAS}"}}`;
    for (const name of ["good", "refused", "redirected", "held"]) {
      const answer = note(await api.post("run_ml_job", payload(storage.url, name, config, SAS)));
      assert.equal(answer.status, 202, answer.text);
      ids.push(JSON.parse(answer.text).id);
    }
    storage.put("ml_engine_good.json", '{"schema": "another"}');
    const output_url = `${storage.url}/data/ml_engine_good.json${SAS}`;
    const previous_feature_url = `${storage.url}/data/feature_engine_good.json${SAS}`;
    const audit = { ...JSON.parse(payload(storage.url, "good", config, SAS)), previous_feature_url };
    for (const [operation, body] of [
      ["replay", { output_url }],
      ["audit", { ...audit, checks: ["restatement"], previous_feature_url: output_url }],
    ] as const) {
      const answer = note(await api.post(operation, JSON.stringify(body)));
      if (answer.status === 202) ids.unshift(JSON.parse(answer.text).id);
    }
    await storage.untilRequested("data_extractor_held.json");
    await api.list();
    answers.push(
      ...allProcesses()
        .filter(({ pid }) => pid !== process.pid)
        .map(({ command }) => command),
    );
    note(await api.ask("POST", `/v1/operations/${ids.at(-1)}/cancel`));
    release(storage, "held");
    for (const bad of [
      payload("https://evil.example/c", "x", RIDGE, SAS),
      payload(`https://me:${SIGNATURE}@evil.example/c`, "x"),
      payload(storage.url, "x", `{"ML params": {"model": "https://a.example/x${SAS}"}}`),
      payload(storage.url, "x", `{"ML params": {"model": "ridge"}, "u": "https://a.example/x${SAS}"}`),
      `{"feature_url": "${storage.url}/data/x${SAS}", "other": "${SAS}", "config": 1}`,
      `${payload(storage.url, "x", RIDGE, SAS)}}`,
    ]) {
      assert.ok(note(await api.post("run_ml_job", bad)).status >= 400, bad);
    }
    for (const path of [`/v1/operations${SAS}`, `/nowhere${SAS}`, `/data/feature_engine_x.json${SAS}`]) {
      note(await api.ask("GET", path));
    }
    const wrong = new Api(serving.url, { authorization: `Bearer ${key}x`, cookie: `sid=${SIGNATURE}` });
    note(await wrong.ask("GET", `/v1/operations${SAS}`));
    const succeeded: string[] = [];
    for (const id of ids) {
      const ended = await api.ended(id);
      answers.push(JSON.stringify(ended), JSON.stringify(await collect(await api.events(id))));
      if (ended.result?.output_name.startsWith("ml_engine")) succeeded.push(id);
      if (ended.result) outputs.push((await api.ask("GET", ended.result.output_url)).text);
    }
    const link = JSON.parse((await api.ask("POST", `/v1/operations/${succeeded[0]}/report-link`)).text);
    const token = String(link.url).split("/").at(-1)!;
    secrets.set("a link to a report", token);
    for (const path of [
      `/reports/${token}/x`,
      `/reports/${token}`,
      `/reports/${token}`,
      `/reports/${token}?x`,
    ])
      note(await new Api(serving.url).ask("GET", path));
    for (const path of ["/v1/operations", "/metrics", "/healthz", "/readyz", "/openapi.json"]) {
      note(await api.ask("GET", path));
    }
  }

  /** Neither plain, nor encoded for a URL or as hexadecimal. */
  function assertNone(where: string, text: string): void {
    for (const [what, secret] of secrets) {
      for (const spelt of [secret, encodeURIComponent(secret), Buffer.from(secret).toString("hex")]) {
        const at = text.indexOf(spelt);
        assert.equal(at, -1, `${what} stands in ${where}: …${text.slice(Math.max(0, at - 200), at)}…`);
      }
    }
  }

  test("in an answer, an event, a header or a command line", () => {
    assert.ok(answers.length > 30);
    assertNone("what was answered", answers.join("\n"));
  });

  test("in an output", () => {
    assert.ok(outputs.length >= 1);
    assertNone("an output", outputs.join("\n"));
  });

  test("in the log, even at its most verbose", () => {
    assert.ok(serving.logs().split("\n").length > 10);
    assertNone("the log", serving.logs());
  });

  test("in a file", () => {
    const names = readdirSync(serving.folder, { recursive: true }).map(String);
    for (const name of names.filter((name) => !/settings\.json$|readiness/.test(name))) {
      const path = join(serving.folder, name);
      if (statSync(path).isFile()) assertNone(path, readFileSync(path, "latin1"));
    }
  });

  test("in the database, once the operations have ended", async () => {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    const { rows: tables } = await client.query(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_schema not in ('pg_catalog', 'information_schema')`,
    );
    assert.ok(tables.length >= 4);
    for (const { name } of tables) {
      const { rows } = await client.query(`select row_to_json(t)::text as row from ${name} t`);
      assertNone(name, rows.map(({ row }) => row).join("\n"));
    }
    await client.end();
  });
});
