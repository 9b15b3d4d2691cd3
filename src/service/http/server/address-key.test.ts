import assert from "node:assert/strict";
import { test } from "node:test";
import { addressKey } from "./address-key.ts";

test("all addresses of one IPv6 network have one key", () => {
  assert.equal(addressKey("2001:db8:1:2:3:4:5:6"), addressKey("2001:db8:1:2::9"));
  assert.notEqual(addressKey("2001:db8:1:2::1"), addressKey("2001:db8:1:3::1"));
  assert.equal(addressKey("::1"), "0:0:0:0");
  assert.equal(addressKey(undefined), "closed", "of a connection that has closed");
  assert.equal(addressKey("::ffff:10.1.2.3"), addressKey("10.1.2.3"));
});
