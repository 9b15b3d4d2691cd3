import { MucastApiError, MucastClient } from "../../client/index.ts";
import { element, fill } from "../dom.ts";
import { PAGE } from "../session.ts";

interface SignIn {
  /** Why the reader has to sign in again. */
  readonly said: string | undefined;
  onSignedIn(token: string, isStored: boolean): void;
}

const WORDS = {
  keys: {
    label: "API key",
    hint: "As mucast keys create printed it: mucast_, an id and a secret.",
  },
  oidc: { label: "Access token", hint: "A JWT of the issuer that this service trusts, without “Bearer”." },
} as const;

/** Asks for a key or a token and tries it. It takes the place of the whole page. */
export function showSignIn({ said, onSignedIn }: SignIn): void {
  const { label, hint } = WORDS[PAGE.auth === "oidc" ? "oidc" : "keys"];
  const token = element("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    "aria-describedby": "token-hint",
  });
  const stored = element("input", { id: "stored", type: "checkbox" });
  const message = element("p", { class: "failed", role: "alert" }, said);
  const button = element("button", { type: "submit" }, "Sign in");
  const form = element(
    "form",
    { class: "sign-in" },
    element("label", { for: "token" }, label),
    token,
    element("p", { id: "token-hint", class: "hint" }, hint),
    element(
      "label",
      { class: "check" },
      stored,
      "Keep it in this tab, until the tab is closed. Without this, loading the page again forgets it.",
    ),
    button,
    message,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    button.disabled = true;
    const given = token.value.trim();
    tryToken(given)
      .then((refusal) => {
        if (refusal === undefined) onSignedIn(given, stored.checked);
        else fill(message, refusal);
      })
      .finally(() => {
        button.disabled = false;
      });
  });
  fill(document.body, element("main", { class: "narrow" }, element("h1", {}, "mucast"), form));
  token.focus();
}

/** @returns why the service does not take it, or undefined. */
async function tryToken(token: string): Promise<string | undefined> {
  try {
    const client = new MucastClient({ baseUrl: PAGE.baseUrl, apiKey: token });
    await client.listOperations({ limit: 1 });
    return undefined;
  } catch (error) {
    if (error instanceof MucastApiError) return `${error.problem.detail}. ${error.problem.advice}`;
    return "The service does not answer. Try again once it runs.";
  }
}
