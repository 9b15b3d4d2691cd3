import assert from "node:assert/strict";
import { constants } from "node:os";
import { test } from "node:test";
import { problemOf } from "../../contract/problems/problem.ts";
import { IMAGE_PYTHON } from "../environment/engine-status.ts";
import { endOf, gatewayStartError, importError, startError } from "./engine-errors.ts";

const ended = (signal: number | null, exit_code: number | null = null) =>
  endOf({ pid: 1, signal, exit_code, max_rss_bytes: 0 });

test("describes the signal that ended a worker, and mentions memory only if that is possible", () => {
  const { SIGKILL, SIGSEGV, SIGABRT, SIGTERM } = constants.signals;
  assert.match(ended(SIGKILL), /^it was ended by SIGKILL, as happens where the machine's memory runs out$/);
  assert.match(
    ended(SIGSEGV),
    /^it was ended by SIGSEGV, as happens where a library uses memory that is not/,
  );
  assert.match(ended(SIGABRT), /^it was ended by SIGABRT, as happens where a library gives up at an error/);
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

test("advises another image where an image lacks torch, and to install it elsewhere", () => {
  const end = { reason: "exit code 1", signal: null, wasKilled: false, orderly: false } as const;
  const missing = "ModuleNotFoundError: No module named 'torch'";
  const broken = "libgomp.so.1: cannot open shared object file";
  for (const errorOf of [
    importError,
    (python: string, stderrTail: string) => startError(python, { ...end, stderrTail }),
  ]) {
    const advice = (python: string, message: string) => problemOf(errorOf(python, message)).advice;
    assert.match(
      advice(IMAGE_PYTHON, missing),
      /^This image has no PyTorch\. Run .* the image `dl` .*`dl-cpu`/,
    );
    assert.match(advice("/usr/bin/python3", missing), /mucast setup --dl/);
    assert.match(advice(IMAGE_PYTHON, broken), /mucast setup/);
  }
});
