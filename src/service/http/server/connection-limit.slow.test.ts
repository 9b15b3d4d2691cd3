import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { MucastError } from "../../../contract/errors/errors.ts";
import { connectionLimit, limitOfReport, openFileLimit } from "./connection-limit.ts";

const jobs = { connections: undefined, concurrent_jobs: 2 };

test("the limit reserves descriptors for the service and its jobs, and two for each connection", () => {
  assert.equal(connectionLimit(jobs, 1_024), (1_024 - 256 - 16) / 2);
  assert.equal(connectionLimit(jobs, 1_048_576), 10_000);
  assert.equal(connectionLimit(jobs, Number.POSITIVE_INFINITY), 10_000);
  assert.equal(connectionLimit(jobs, 64), 16);
  assert.equal(connectionLimit({ ...jobs, connections: 376 }, 1_024), 376);
});

test("a setting that needs more descriptors than the process has is refused, with advice", () => {
  assert.throws(
    () => connectionLimit({ ...jobs, connections: 377 }, 1_024),
    (error: unknown) =>
      error instanceof MucastError &&
      error.code === "invalid_request" &&
      /377 connections need 754 open files .* may have 1024: raise "ulimit -n"/.test(error.message),
  );
});

test("openFileLimit returns the limit that the shell has set", () => {
  const script = `
    const { limitOfReport, openFileLimit } = await import(${JSON.stringify(new URL("./connection-limit.ts", import.meta.url).href)});
    console.log(openFileLimit(), limitOfReport());`;
  const shell = 'ulimit -n 512; exec "$0" --input-type=module -e "$1"';
  const said = execFileSync("sh", ["-c", shell, process.execPath, script], { encoding: "utf8" });
  assert.equal(said, "512 512\n");
  assert.equal(limitOfReport(), openFileLimit());
});
