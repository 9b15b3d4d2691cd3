import assert from "node:assert/strict";
import { test } from "node:test";
import type { MucastError } from "../contract/errors/errors.ts";
import { trackerOf } from "./tracker.ts";

const url = "https://mlflow.example.com";

test("reads the URL, the experiment and the credentials", () => {
  assert.equal(trackerOf({}), undefined);
  assert.equal(trackerOf({ MLFLOW_TRACKING_URI: " " }), undefined);
  const plain = { url, experiment: "mucast", authorization: undefined, secrets: [] };
  assert.deepEqual(trackerOf({ MLFLOW_TRACKING_URI: `${url}/` }), plain);
  const env = { MLFLOW_TRACKING_URI: `${url}/sub/`, MLFLOW_EXPERIMENT_NAME: "desk" };
  assert.deepEqual(trackerOf({ ...env, MLFLOW_TRACKING_TOKEN: "t0ken" }), {
    url: `${url}/sub`,
    experiment: "desk",
    authorization: "Bearer t0ken",
    secrets: ["t0ken"],
  });
  const both = {
    MLFLOW_TRACKING_USERNAME: "me",
    MLFLOW_TRACKING_PASSWORD: "pass",
    MLFLOW_TRACKING_TOKEN: "t",
  };
  const encoded = Buffer.from("me:pass").toString("base64");
  const basic = trackerOf({ ...env, ...both });
  assert.deepEqual([basic!.authorization, basic!.secrets], [`Basic ${encoded}`, ["pass", encoded]]);
  const odd = trackerOf({ ...env, ...both, MLFLOW_TRACKING_PASSWORD: 'a"b c' })!;
  assert.deepEqual(odd.secrets.slice(0, 3), ['a"b c', "a%22b%20c", 'a\\"b c'], "as a server may write it");
});

const SECRET = "planted";
const FAULTS: readonly (readonly [what: string, env: Record<string, string>, fault: RegExp])[] = [
  [
    "a local folder",
    { MLFLOW_TRACKING_URI: "./mlruns" },
    /MLFLOW_TRACKING_URI: must be the http or https URL/,
  ],
  ["another scheme", { MLFLOW_TRACKING_URI: "sqlite:///mlflow.db" }, /must be the http or https URL/],
  ["a password in the URL", { MLFLOW_TRACKING_URI: `https://me:${SECRET}@x.example` }, /without a user name/],
  ["a query string", { MLFLOW_TRACKING_URI: `${url}/?key=${SECRET}` }, /without a query string/],
  [
    "a token over http",
    { MLFLOW_TRACKING_URI: "http://mlflow:5000", MLFLOW_TRACKING_TOKEN: SECRET },
    /MLFLOW_TRACKING_TOKEN: is only sent over https, or to this machine/,
  ],
  [
    "a password over http",
    {
      MLFLOW_TRACKING_URI: "http://mlflow:5000",
      MLFLOW_TRACKING_USERNAME: "me",
      MLFLOW_TRACKING_PASSWORD: SECRET,
    },
    /MLFLOW_TRACKING_PASSWORD: is only sent over https/,
  ],
  [
    "a token with a line break",
    { MLFLOW_TRACKING_URI: url, MLFLOW_TRACKING_TOKEN: `${SECRET}\nx: y` },
    /MLFLOW_TRACKING_TOKEN: has a character/,
  ],
  [
    "a long name of the experiment",
    { MLFLOW_TRACKING_URI: url, MLFLOW_EXPERIMENT_NAME: "x".repeat(501) },
    /MLFLOW_EXPERIMENT_NAME: must have at most 500 characters/,
  ],
];
for (const [what, env, fault] of FAULTS) {
  test(`refuses ${what}, and shows no secret`, () => {
    assert.throws(
      () => trackerOf(env),
      (error: MucastError) => {
        assert.equal(error.code, "invalid_request");
        assert.match(error.message, fault);
        return !JSON.stringify([error.message, error.data]).includes(SECRET);
      },
    );
  });
}

test("allows http without credentials, and with them to this machine", () => {
  assert.equal(trackerOf({ MLFLOW_TRACKING_URI: "http://mlflow:5000" })!.url, "http://mlflow:5000");
  const own = { MLFLOW_TRACKING_URI: "http://127.0.0.1:5000", MLFLOW_TRACKING_TOKEN: "t" };
  assert.equal(trackerOf(own)!.authorization, "Bearer t");
});
