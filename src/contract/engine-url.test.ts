import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOf, engineUrlFault } from "./engine-url.ts";

const FAULTS = {
  "http://127.0.0.1:10001": /^must be ray:\/\/<host>:<port>.*; got "http:/,
  auto: /got "auto"/,
  "ray://": /lacks a host/,
  "ray://head.example": /lacks the port .* 10001 by default; got/,
  "ray://head.example:10001/path": /nothing behind the port/,
  "ray://head.example:10001?token=a": /nothing behind the port/,
  "ray://head..example:10001": /its host is neither a name nor an address; got/,
  "ray://me:hunter2@head:10001": /^(?!.*hunter2).*the token comes from RAY_AUTH_TOKEN/,
  "http://me:hunter2@head": /^(?!.*hunter2)must be ray/,
};

test("the URL of a cluster has a host and a port; a fault says what is wrong, and shows no password", () => {
  for (const url of ["ray://127.0.0.1:10001", "ray://[::1]:10001", "ray://ray_head.ns.svc.:10001/"])
    assert.equal(engineUrlFault(url), undefined, url);
  for (const [url, fault] of Object.entries(FAULTS)) assert.match(engineUrlFault(url)!, fault);
});

test("allows only a cluster on this machine without a token", () => {
  for (const engine of ["ray://127.0.0.1:10001", "ray://localhost:10001", "ray://[::1]:10001"])
    assert.deepEqual(clusterOf(engine, true), { url: engine, insecure: true });
  for (const engine of ["ray://10.0.0.7:10001", "ray://127.evil.example:10001"]) {
    assert.deepEqual(clusterOf(engine, false), { url: engine, insecure: false });
    assert.throws(() => clusterOf(engine, true), { code: "invalid_request", message: /^engine_insecure / });
  }
});
