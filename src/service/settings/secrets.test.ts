import assert from "node:assert/strict";
import { test } from "node:test";
import { settingNames, settingsSchema } from "../../contract/settings.ts";
import { secretHider } from "../telemetry/hide-secrets.ts";
import { secretsOf } from "./load-settings.ts";

test("the password of a database is hidden in every spelling of its URL", () => {
  for (const [url, password] of [
    ["postgresql://u:s3cret-word@db/x", "s3cret-word"],
    ["postgresql://u:s3cret%2Fword@db/x", "s3cret/word"],
    ["postgresql://u:s3cret%zzword@db/x", "s3cret%zzword"],
    ["postgresql://u:s3cret%ffword@db/x", "s3cret%ffword"],
  ] as const) {
    const hide = secretHider(secretsOf(settingsSchema.parse({ database_url: url }), {}));
    assert.equal(hide(`{"msg":"of ${password}"}`), '{"msg":"of …"}', url);
  }
});

test("the text of every setting that is a secret is hidden", () => {
  for (const [key, field] of Object.entries(settingsSchema.shape)) {
    if (!settingNames.get(field)?.secret || key === "webhooks") continue;
    const secrets = secretsOf({ ...settingsSchema.parse({}), [key]: "s3cret-text" }, {});
    assert.deepEqual(secrets, ["s3cret-text"], key);
  }
});

test("a database URL that only its driver can parse is not a fault", () => {
  const url = "postgresql://u:s3cret-word@/x?host=/run/postgresql";
  const hide = secretHider(secretsOf(settingsSchema.parse({ database_url: url }), {}));
  assert.ok(!hide(`{"msg":"${url}"}`).includes("s3cret-word"));
});
