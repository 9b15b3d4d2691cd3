import type { Problem } from "../../client/index.ts";
import { element, fill } from "../dom.ts";
import { PAGE } from "../session.ts";
import { prose, textElement } from "../words.ts";

interface SignIn {
  /** Why the reader has to sign in again. */
  readonly message: string | undefined;
  onSignedIn(token: string, isStored: boolean): void;
}

const WORDS = {
  keys: {
    label: "API key",
    hint: "As printed by `mucast keys create`: mucast_, an id and a secret.",
    refused: "The service does not know this key: it is mistyped or was revoked.",
  },
  oidc: {
    label: "Access token",
    hint: "A JWT from the issuer that this service trusts.",
    refused: "The service does not accept this token: it has expired or is not for this service.",
  },
} as const;

/** Asks for a key or a token and tries it. It replaces the whole page. */
export function showSignIn({ message, onSignedIn }: SignIn): void {
  const words = WORDS[PAGE.auth === "oidc" ? "oidc" : "keys"];
  const token = element("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    "aria-describedby": "token-hint",
  });
  const stored = element("input", { type: "checkbox" });
  const status = element(
    "div",
    { role: "alert" },
    message !== undefined && element("p", { class: "failed" }, message),
  );
  const button = element("button", { type: "submit" }, "Sign in");
  const form = element(
    "form",
    { class: "sign-in" },
    element("label", { for: "token" }, words.label),
    token,
    element("p", { id: "token-hint", class: "hint" }, ...prose(words.hint, 200)),
    element(
      "label",
      { class: "check" },
      stored,
      element(
        "span",
        {},
        "Remember it until this tab is closed. Otherwise it is forgotten when the page reloads.",
      ),
    ),
    button,
    status,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = token.value.trim().replace(/^Bearer\s+/i, "");
    button.disabled = true;
    fill(status);
    const refusal = await refusalOf(given, words.refused);
    button.disabled = false;
    if (refusal === undefined) {
      onSignedIn(given, stored.checked);
      return;
    }
    fill(status, element("p", { class: "failed" }, textElement(refusal, 1_000)));
    token.select();
  });
  document.title = "Sign in \u00b7 mucast";
  fill(
    document.body,
    element(
      "main",
      { class: "narrow" },
      element("h1", {}, "Sign in to mucast"),
      form,
      element("p", { class: "hint" }, element("a", { href: "docs" }, "API documentation")),
    ),
  );
  token.focus();
}

/** @returns why the service refuses it; undefined if the service accepts it. */
async function refusalOf(token: string, refused: string): Promise<string | undefined> {
  if (!/^[\x21-\x7e]+$/.test(token))
    return "A key or token contains only visible ASCII characters and no spaces.";
  try {
    const answer = await fetch(`${PAGE.baseUrl}v1/queue`, {
      headers: { authorization: `Bearer ${token}` },
      redirect: "manual",
    });
    if (answer.ok) return undefined;
    if (answer.status === 401) return refused;
    const { detail, advice } = (await answer.json()) as Problem;
    return `${detail}. ${advice}`;
  } catch {
    return "The service does not respond. Try again when it is running.";
  }
}
