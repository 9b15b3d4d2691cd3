import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../errors/errors.ts";
import { withOptionalPackages } from "./optional-packages.ts";

const notFound = (message: string) => Object.assign(new Error(message), { code: "ERR_MODULE_NOT_FOUND" });

test("a missing optional package is an error with the command that installs it", async () => {
  const load = () =>
    Promise.reject(notFound("Cannot find package '@azure/identity' imported from /opt/mucast/dist/a.js"));
  await assert.rejects(withOptionalPackages("a container of Azure", load), (error) => {
    assert.ok(error instanceof MucastError);
    assert.equal(error.code, "invalid_request");
    assert.match(
      error.message,
      /^a container of Azure needs the package @azure\/identity, which is not installed/,
    );
    assert.match(error.message, / npm install --omit=optional (@azure\/[\w-]+@\d+\.\d+\.\d+ ?){3}$/);
    return true;
  });
});

test("other errors are not changed, and neither is what is loaded", async () => {
  for (const error of [notFound("Cannot find package 'zod' imported from /a.js"), new Error("broken")]) {
    await assert.rejects(
      withOptionalPackages("a container", () => Promise.reject(error)),
      (caught) => caught === error,
    );
  }
  assert.equal(await withOptionalPackages("a container", async () => 7), 7);
});
