import type { TestContext } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import type { FakeIssuer } from "./fake-issuer.testing.ts";
import { type OidcOptions, oidcAuthenticate } from "./oidc-authenticate.ts";

const SCOPES = { read: "mucast.read", write: "mucast.write" };
export const MINUTE = 60_000;
export const DAY_SECONDS = 86_400;

/** A clock in milliseconds that a test sets forward, in place of both of the process. */
export function stoppedClock(t: TestContext): { time: number } {
  const clock = { time: Date.now() };
  t.mock.method(performance, "now", () => clock.time);
  t.mock.method(Date, "now", () => clock.time);
  return clock;
}

export function authenticateBy(issuer: FakeIssuer, more: Partial<OidcOptions> = {}) {
  const authenticate = oidcAuthenticate({
    issuer: issuer.url,
    audience: "mucast",
    scopes: SCOPES,
    subjectOf: (sub) => `oidc:${sub}`,
    keysSeconds: DAY_SECONDS,
    log: noLog,
    ...more,
  });
  return (token: string) => authenticate(`Bearer ${token}`);
}

export function fails(code: string): (error: unknown) => boolean {
  return (error) => error instanceof MucastError && error.code === code;
}

export function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
