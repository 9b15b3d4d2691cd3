import assert from "node:assert/strict";
import { test } from "node:test";
import { mlText } from "../../src/outputs/outputs.testing.ts";
import { FakeIssuer } from "../../src/service/auth/fake-issuer.testing.ts";
import {
  beyondRefusals,
  open,
  openAs,
  reader,
  service,
  show,
  signIn,
  until,
  untilText,
  writer,
} from "./console-pages.testing.ts";
import { ConsoleService, type SignedIn } from "./console-service.testing.ts";

test("refuses a wrong key with a clear message, signs in with a valid one, and ends the session when it is revoked", async () => {
  const { page, unwanted, close } = await open();
  await signIn(page, "mucast_wrong_key");
  await untilText(
    page,
    "The service does not accept this key or token: it is mistyped, was revoked or has expired.",
  );
  await signIn(page, "no key at all");
  assert.ok(await page.evaluate('document.querySelector("#token").matches(":invalid")'));
  const short = await service.signedWith("read");
  await signIn(page, `  Bearer ${short.token} `);
  await untilText(page, "No operations yet");
  await service.keys.revoke(short.keyId);
  await untilText(page, "was revoked or has expired. Sign in again.");
  assert.equal(await page.evaluate('document.querySelector("#token").value'), "");
  assert.deepEqual(beyondRefusals(unwanted, 401), []);
  await close();
});

test("keeps what a reader was writing when the session ended in the form after the next sign-in", async () => {
  const short = await service.signedWith("read", "write");
  const { page, unwanted, close } = await openAs(short, "#/job");
  const typed = '{"config": {"ML params": {"model": "lasso"}}, "feature_url": ';
  await page.fill("textarea.raw", typed);
  await service.keys.revoke(short.keyId);
  await untilText(page, "was revoked or has expired. Sign in again.");
  await signIn(page, writer.token);
  await untilText(page, "The form contains what you had entered when your session ended.");
  assert.equal(await page.inputValue("textarea.raw"), typed);
  await page.click("header button");
  await signIn(page, writer.token);
  await until(page, 'document.querySelector("textarea.raw") !== null');
  assert.equal(await page.inputValue("textarea.raw"), "{}", "another person may sign in next");
  assert.deepEqual(beyondRefusals(unwanted, 401), []);
  await close();
});

test("a token of the trusted issuer signs in with its scopes, and one of another issuer does not", async (t) => {
  const [issuer, other] = [await FakeIssuer.start(t), await FakeIssuer.start(t)];
  const trusting = await ConsoleService.start({
    auth: "oidc",
    oidc_issuer: issuer.url,
    oidc_audience: "mucast",
  });
  t.after(() => trusting.close());
  const { page, unwanted, close } = await open("#/job", {}, trusting.url);
  assert.equal(await page.textContent("label[for=token]"), "Access token");
  await signIn(page, await other.token({ iss: issuer.url }));
  await untilText(page, "The service does not accept this key or token");
  await signIn(page, `Bearer ${await issuer.token({ scope: "mucast.read" })}`);
  await untilText(page, "this needs a key or token with the write scope. Yours has only the read scope");
  await page.click("header button");
  await signIn(page, await issuer.token());
  await page.waitForSelector("form.payload");
  assert.deepEqual(beyondRefusals(unwanted, 401), []);
  await close();
});

test("a key stays in memory, and in the tab's storage only if that is ticked", async () => {
  const { page, close } = await openAs(writer);
  const stored = "JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])";
  assert.equal(await page.evaluate(stored), '[{},{},""]');
  await page.reload();
  await until(page, 'document.querySelector("#token") !== null');
  await page.click(".check input");
  await signIn(page, writer.token);
  await until(page, 'document.querySelector("header nav") !== null');
  await page.reload();
  await until(page, 'document.querySelector("header nav") !== null');
  await page.click("header button");
  await until(page, 'document.querySelector("#token") !== null');
  assert.equal(await page.evaluate(stored), '[{},{},""]');
  await close();
});

test("a read-only key is shown no way to change anything, and the reason", async () => {
  const only: SignedIn = { ...reader, caller: { ...reader.caller, scopes: new Set(["read", "write"]) } };
  const { id, execution } = await service.begin(only.caller);
  const { page, unwanted, close } = await openAs(reader, `#/operations/${id}`);
  await untilText(page, "Your key has only the read scope, so you cannot cancel this operation.");
  await untilText(page, "Show the payload as JSON");
  assert.equal(
    await page.evaluate('[...document.querySelectorAll("button")].map((each) => each.textContent).join()'),
    "Sign out,Copy",
  );
  for (const view of ["job", "upload", "audit", "replay"]) {
    await show(page, `#/${view}`);
    await untilText(page, "this needs a key or token with the write scope. Yours has only the read scope");
  }
  assert.deepEqual(unwanted, []);
  service.succeed({ id, execution }, mlText());
  await close();
});
