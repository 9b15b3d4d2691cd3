import assert from "node:assert/strict";
import { test } from "node:test";
import { withOptionalPackages } from "./optional-packages.ts";

const fails = (name: string) => () =>
  Promise.reject(
    Object.assign(new Error(`Cannot find package '${name}' imported from /opt/mucast/dist/a.js`), {
      code: "ERR_MODULE_NOT_FOUND",
    }),
  );

test("a missing optional package is an error with the command that installs it, and another one stays what it is", async () => {
  await assert.rejects(withOptionalPackages("a container of Azure", fails("@azure/identity")), {
    code: "invalid_request",
    message:
      /^a container of Azure needs the package @azure\/identity, .* npm install --omit=optional (@azure\/[\w-]+@\d+\.\d+\.\d+ ?){3}$/,
  });
  await assert.rejects(withOptionalPackages("a container", fails("zod")), { code: "ERR_MODULE_NOT_FOUND" });
  const throwsText = () => Promise.reject("a text");
  assert.equal(await withOptionalPackages("a container", throwsText).catch(String), "a text");
});
