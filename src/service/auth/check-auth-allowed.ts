import { MucastError } from "../../contract/errors/errors.ts";
import type { Settings } from "../../contract/settings.ts";
import { isLoopbackName } from "./loopback.ts";

type AuthSettings = Pick<Settings, "auth" | "host" | "oidc_issuer" | "oidc_audience" | "oidc_jwks_url">;

/**
 * Refuses settings that would let in anyone from anywhere: no authentication on another than a loopback address, or
 * OIDC without an issuer or an audience, or with keys that come over plain http from another machine.
 *
 * @throws MucastError invalid_request.
 */
export function checkAuthAllowed(settings: AuthSettings): void {
  if (settings.auth === "none" && !isLoopbackName(settings.host)) {
    throw refused(
      "auth",
      settings.auth,
      `auth is "none" and host is "${settings.host}", which others can reach: set auth to "keys" ` +
        "(`mucast keys create` makes one) or to oidc, or listen on 127.0.0.1",
    );
  }
  if (settings.auth !== "oidc") return;
  for (const name of ["oidc_issuer", "oidc_audience"] as const) {
    if (settings[name] === undefined || settings[name] === "") {
      throw refused(name, settings[name], `auth is "oidc" and ${name} is missing`);
    }
  }
  for (const name of ["oidc_issuer", "oidc_jwks_url"] as const) {
    const url = settings[name];
    if (url !== undefined && !isTrusted(new URL(url))) {
      throw refused(name, url, `${name} must be https: whoever answers there says who may come in`);
    }
  }
}

function isTrusted({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || isLoopbackName(hostname);
}

function refused(path: string, value: unknown, message: string): MucastError {
  return new MucastError("invalid_request", message, { path, value });
}
