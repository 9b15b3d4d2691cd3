/** A fake OIDC provider: a local server with a discovery document, a key set, and tokens that it signs. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import { answering } from "../../../test/servers/answering.testing.ts";

interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

export class FakeIssuer {
  /** How often each path was asked for. */
  readonly asked = new Map<string, number>();
  /** What discovery says instead of the truth. */
  metadata: Record<string, unknown> = {};
  /** Answered to everything, where it is not 200. */
  status = 200;
  /** A path whose answer is JSON that never ends, and how many bytes of it were taken. */
  endless = { path: "", bytes: 0 };
  url = "";
  #keys: SigningKey[] = [];
  #count = 0;

  /** Begins to answer, until the test has ended. */
  static async start(t: TestContext): Promise<FakeIssuer> {
    const issuer = new FakeIssuer();
    const server = createServer(
      answering(async (request, response) => {
        const path = request.url!;
        issuer.asked.set(path, (issuer.asked.get(path) ?? 0) + 1);
        response.writeHead(issuer.status, { "content-type": "application/json", connection: "close" });
        if (path === issuer.endless.path) return issuer.#sendEndlessly(response);
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

  /** Signs with a new key from now on; the old ones are no longer told. */
  async rotate(alg = "RS256"): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    this.#keys = [{ kid: `key-${++this.#count}`, alg, privateKey, publicKey }];
  }

  /** A token as the service wants it, but for what is given. */
  token(claims: Readonly<Record<string, unknown>> = {}, header: { kid?: string } = {}): Promise<string> {
    const { kid, alg, privateKey } = this.#keys[0]!;
    const now = Math.floor(Date.now() / 1_000);
    const whole = {
      iss: this.url,
      aud: "mucast",
      sub: "ann",
      scope: "openid mucast.read mucast.write",
      iat: now,
      exp: now + 600,
    };
    const payload = Object.fromEntries(
      Object.entries({ ...whole, ...claims }).filter(([, value]) => value !== undefined),
    );
    return new SignJWT(payload).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
  }

  #sendEndlessly(response: ServerResponse): void {
    const piece = Buffer.alloc(2 ** 16, " ");
    const more = () => {
      if (response.destroyed) return;
      this.endless.bytes += piece.length;
      response.write(piece, more);
    };
    more();
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
