import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isAllowedAddress } from "./addresses.ts";

const isPublic = (address: string) => isAllowedAddress(address, "public");
const words = (text: string) => text.split(/\s+/);

test("addresses of the open internet are public, in IPv4 and IPv6", () => {
  const addresses = `8.8.8.8 20.60.0.1 172.15.0.1 172.32.0.1 100.63.0.1 100.128.0.1
    2001:4860:4860::8888 2603:1030::1 2a00::1 ::ffff:8.8.8.8 64:ff9b::808:808`;
  for (const address of words(addresses)) assert.ok(isPublic(address), address);
});

test("refuses each special block of IPv4 at both ends, even inside IPv6", () => {
  const ends = `0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.255.255.255
    168.63.129.16 169.254.0.0 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255 192.0.2.0 192.0.2.255
    192.31.196.0 192.31.196.255 192.52.193.0 192.52.193.255 192.88.99.0 192.88.99.255 192.168.0.0 192.168.255.255
    192.175.48.0 192.175.48.255 198.18.0.0 198.19.255.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255
    224.0.0.0 255.255.255.255`;
  for (const address of words(ends))
    for (const prefix of ["", "::ffff:", "64:ff9b::", "0:0:0:0:0:FFFF:", "::", "64:ff9b:1::"])
      assert.ok(!isPublic(prefix + address), prefix + address);
});

test("refuses IPv6 that is local, special or a detour", () => {
  const addresses = `:: ::1 ::8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b:1::808:808 100::1 2001::1 2001:0:808:808:: 2001:db8::1
    2002:808:808::1 2620:4f:8000::1 3fff::1 5f00::1 fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1`;
  for (const address of words(addresses)) assert.ok(!isPublic(address), address);
});

test("no rule allows text that is not an address", () => {
  for (const text of ["", "localhost", "1", "127.1", "0x7f000001", "2130706433", "017700000001", "8.8.8.8 "])
    for (const rule of ["public", "loopback", "any"] as const) assert.ok(!isAllowedAddress(text, rule), text);
});

test("loopback is only 127.0.0.0/8 and ::1, in every spelling", () => {
  for (const address of words("127.0.0.1 127.9.9.9 ::1 0:0:0:0:0:0:0:1 ::ffff:127.0.0.1 ::ffff:7f00:1"))
    assert.ok(isAllowedAddress(address, "loopback"), address);
  for (const address of words("128.0.0.1 10.0.0.1 ::2 :: fe80::1 8.8.8.8"))
    assert.ok(!isAllowedAddress(address, "loopback"), address);
});

test("judges an IPv4 address the same in every IPv6 address that contains it", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const [a, b, c, d] = address.split(".").map(Number) as [number, number, number, number];
      const groups = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
      return [`::ffff:${address}`, `::ffff:${groups}`, `64:ff9b::${groups}`].every(
        (carrying) => isPublic(carrying) === isPublic(address),
      );
    }),
    { numRuns: 2000 },
  );
});
