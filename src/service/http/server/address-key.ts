/**
 * The address by which limits count a client. An IPv6 address counts as its /64 network, because one machine may own all of it.
 * @param address undefined if the connection has closed: its socket no longer has one.
 */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return "closed";
  const plain = address.replace(/^::ffff:(?=\d+\.)/, "");
  if (!plain.includes(":")) return plain;
  const [head, tail] = plain.split("::") as [string, string?];
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros =
    tail === undefined ? [] : Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0");
  return [...left, ...zeros, ...right].slice(0, 4).join(":");
}
