/** A fake OIDC provider: a local server with a discovery document, a key set, and tokens that it signs. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import { answering } from "../../../test/servers/answering.testing.ts";

export class FakeIssuer {
  /** The number of requests per path. */
  readonly requestsByPath = new Map<string, number>();
  /** Members of the discovery document that replace the correct ones. */
  metadata: Record<string, unknown> = {};
  /** Status of every answer. */
  status = 200;
  url = "";
  #keys: { kid: string; alg: string; privateKey: CryptoKey; publicKey: CryptoKey }[] = [];
  #count = 0;

  /** Starts the server; the test closes it at its end. */
  static async start(t: TestContext): Promise<FakeIssuer> {
    const issuer = new FakeIssuer();
    const server = createServer(
      answering(async (request, response) => {
        const path = request.url!;
        issuer.requestsByPath.set(path, (issuer.requestsByPath.get(path) ?? 0) + 1);
        response.writeHead(issuer.status, { "content-type": "application/json", connection: "close" });
        response.end(JSON.stringify(await issuer.#answer(path)));
      }),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    issuer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await issuer.rotate();
    return issuer;
  }

  /** Signs with a new key from now on. The key set no longer contains the old ones, unless it keeps them. */
  async rotate(alg = "RS256", { keepsOld = false } = {}): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const old = keepsOld ? this.#keys : [];
    this.#keys = [{ kid: `key-${++this.#count}`, alg, privateKey, publicKey }, ...old];
  }

  /** The number of requests. */
  get requests(): number {
    return [...this.requestsByPath.values()].reduce((sum, count) => sum + count, 0);
  }

  /** A token that the service accepts, except for the given claims and header. */
  token(
    claims: Readonly<Record<string, unknown>> = {},
    header: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const { kid, alg, privateKey } = this.#keys[0]!;
    const now = Math.floor(Date.now() / 1_000);
    const scope = "openid mucast.read mucast.write";
    const right = { iss: this.url, aud: "mucast", sub: "ann", scope, iat: now, exp: now + 600 };
    // JSON has no undefined members.
    return new SignJWT(JSON.parse(JSON.stringify({ ...right, ...claims })))
      .setProtectedHeader({ alg, kid, ...header })
      .sign(privateKey);
  }

  async #answer(path: string): Promise<unknown> {
    if (path === "/.well-known/openid-configuration") {
      return { issuer: this.url, jwks_uri: `${this.url}/keys`, ...this.metadata };
    }
    const keys = this.#keys.map(async ({ kid, alg, publicKey }) => ({
      ...(await exportJWK(publicKey)),
      kid,
      alg,
      use: "sig",
    }));
    return { keys: await Promise.all(keys) };
  }
}
