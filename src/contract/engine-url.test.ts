import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOf, engineEnv, engineUrlFault } from "./engine-url.ts";

test("the URL of a cluster has a scheme, a host and a port", () => {
  for (const url of [
    "ray://127.0.0.1:10001",
    "ray://head.example:1/",
    "ray://[::1]:10001",
    "ray://ray-head.ns.svc:10001",
    "ray://ray_head.ns.svc.:10001",
  ]) {
    assert.equal(engineUrlFault(url), undefined, url);
  }
});

const FAULTS = {
  "http://127.0.0.1:10001": /^must be ray:\/\/<host>:<port>.*; got "http:/,
  auto: /got "auto"/,
  "ray://": /lacks a host/,
  "ray://head.example": /lacks the port .* 10001 by default; got/,
  "ray://head.example:10001/path": /nothing behind the port/,
  "ray://head.example:10001?token=a": /nothing behind the port/,
  "ray://head..example:10001": /its host is neither a name nor an address; got/,
  [`ray://${"a".repeat(64)}.example:10001`]: /its host is neither a name/,
};

test("the fault of a URL that names no cluster says why", () => {
  for (const [url, fault] of Object.entries(FAULTS)) assert.match(engineUrlFault(url)!, fault);
});

test("refuses a password in the URL without showing it", () => {
  for (const url of ["ray://me:hunter2@head:10001", "http://me:hunter2@head", "ray://hunter2@head:10001"]) {
    const fault = engineUrlFault(url)!;
    assert.match(fault, /must be ray/);
    assert.doesNotMatch(fault, /hunter2/);
  }
  assert.match(engineUrlFault("ray://me:pw@head:10001")!, /the token comes from RAY_AUTH_TOKEN/);
});

test("allows only a cluster on this machine without a token", () => {
  for (const engine of ["ray://127.0.0.1:10001", "ray://localhost:10001", "ray://[::1]:10001"]) {
    assert.deepEqual(clusterOf(engine, true), { url: engine, insecure: true });
  }
  for (const engine of ["ray://10.0.0.7:10001", "ray://head.example:10001", "ray://127.evil.example:10001"]) {
    assert.deepEqual(clusterOf(engine, false), { url: engine, insecure: false });
    assert.throws(() => clusterOf(engine, true), { code: "invalid_request", message: /^engine_insecure / });
  }
  assert.equal(clusterOf(undefined, true), undefined);
});

test("a job on another machine gets the URL, and never the permission to work without a token", () =>
  assert.deepEqual(engineEnv("ray://head:10001"), { MUCAST_ENGINE_URL: "ray://head:10001" }));
