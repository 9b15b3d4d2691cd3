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
const HTTP = "http://mlflow:5000";
const FAULTS: readonly (readonly [uri: string, others: Record<string, string>, fault: RegExp])[] = [
  ["./mlruns", {}, /MLFLOW_TRACKING_URI: must be the http or https URL/],
  ["sqlite:///mlflow.db", {}, /must be the http or https URL/],
  [`https://me:${SECRET}@x.example`, {}, /without a user name/],
  [`${url}/?key=${SECRET}`, {}, /without a query string/],
  [HTTP, { TOKEN: SECRET }, /MLFLOW_TRACKING_TOKEN: is only sent over https, or to this machine/],
  [HTTP, { USERNAME: "me", PASSWORD: SECRET }, /MLFLOW_TRACKING_PASSWORD: is only sent over https/],
  [url, { TOKEN: `${SECRET}\nx: y` }, /MLFLOW_TRACKING_TOKEN: has a character/],
];

test("refuses what is not an MLflow server's URL, and credentials that cannot be sent, and shows no secret", () => {
  const isFault = (fault: RegExp) => (error: MucastError) =>
    error.code === "invalid_request" &&
    fault.test(error.message) &&
    !JSON.stringify([error.message, error.data]).includes(SECRET);
  for (const [uri, others, fault] of FAULTS) {
    const env = Object.entries(others).map(([name, value]) => [`MLFLOW_TRACKING_${name}`, value]);
    assert.throws(() => trackerOf({ MLFLOW_TRACKING_URI: uri, ...Object.fromEntries(env) }), isFault(fault));
  }
  const long = { MLFLOW_TRACKING_URI: url, MLFLOW_EXPERIMENT_NAME: "x".repeat(501) };
  assert.throws(() => trackerOf(long), isFault(/MLFLOW_EXPERIMENT_NAME: must have at most 500 characters/));
});

test("allows http without credentials, and with them to this machine", () => {
  assert.equal(trackerOf({ MLFLOW_TRACKING_URI: "http://mlflow:5000" })!.url, "http://mlflow:5000");
  const own = { MLFLOW_TRACKING_URI: "http://127.0.0.1:5000", MLFLOW_TRACKING_TOKEN: "t" };
  assert.equal(trackerOf(own)!.authorization, "Bearer t");
});
