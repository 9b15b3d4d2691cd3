import assert from "node:assert/strict";
import { test } from "node:test";
import { keepToken } from "./azure-credentials.ts";

const MINUTE_MS = 60_000;

/** A fake: a credential with numbered tokens that expire after this many minutes. */
function fakeCredential(...minutes: readonly number[]) {
  let asked = 0;
  return keepToken({
    async getToken() {
      const expiresOnTimestamp = Date.now() + minutes[asked]! * MINUTE_MS;
      return { token: `${++asked}`, expiresOnTimestamp };
    },
  });
}

test("keeps a token while it is valid, and renews it some minutes before it expires", async () => {
  const credential = fakeCredential(60, 60);
  assert.equal((await credential.getToken("scope"))?.token, "1");
  assert.equal((await credential.getToken("scope"))?.token, "1");
  const ending = fakeCredential(4, 60, 60);
  const tokens = [
    await ending.getToken("scope"),
    await ending.getToken("scope"),
    await ending.getToken("scope"),
  ];
  assert.deepEqual(
    tokens.map((token) => token?.token),
    ["1", "2", "2"],
  );
});

test("requests a token for another tenant, and keeps it from then on", async () => {
  const credential = fakeCredential(60, 60);
  await credential.getToken("scope");
  assert.equal((await credential.getToken("scope", { tenantId: "other" }))?.token, "2");
  assert.equal((await credential.getToken("scope"))?.token, "2");
});
