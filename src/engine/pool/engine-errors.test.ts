import assert from "node:assert/strict";
import { constants } from "node:os";
import { test } from "node:test";
import { endOf, gatewayStartError, startError } from "./engine-errors.ts";

const ended = (signal: number | null, exit_code: number | null = null) =>
  endOf({ pid: 1, signal, exit_code, max_rss_bytes: 0 });

test("describes the signal that ended a worker, and mentions memory only if that is possible", () => {
  const { SIGKILL, SIGSEGV, SIGTERM } = constants.signals;
  assert.match(ended(SIGKILL), /^it was ended by SIGKILL, as happens where the machine's memory runs out$/);
  assert.match(
    ended(SIGSEGV),
    /^it was ended by SIGSEGV, as happens where a library uses memory that is not/,
  );
  assert.equal(ended(SIGTERM), "it was ended by SIGTERM");
  assert.equal(ended(null, 3), "it ended with exit code 3");
});

test("names no path in the error of an engine that was killed during its start, since callers elsewhere read it", () => {
  const reason = "it was ended by SIGKILL";
  const end = { reason, signal: "SIGKILL", wasKilled: false, stderrTail: "", orderly: false } as const;
  const cluster = { url: "ray://head:10001", insecure: false };
  const python = "/srv/secret/python";
  for (const error of [startError(python, end), gatewayStartError(cluster, python, end)]) {
    assert.equal(error.code, "engine_crashed");
    assert.doesNotMatch(error.message, /secret/);
  }
});
