import type { TargetedEvent, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../client/index.ts";
import { html } from "../view/html.ts";
import { bdi, prose } from "../view/text.ts";
import { PAGE } from "./session.ts";

interface SignInProps {
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

/** Asks for a key or a token and tries it. */
export function SignIn({ message, onSignedIn }: SignInProps): VNode {
  const words = WORDS[PAGE.auth === "oidc" ? "oidc" : "keys"];
  const input = useRef<HTMLInputElement>(null);
  const [isStored, setStored] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState(message);
  useEffect(() => {
    document.title = "Sign in · mucast";
    input.current!.focus();
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    const token = input.current!.value.trim().replace(/^Bearer\s+/i, "");
    setBusy(true);
    setRefusal(undefined);
    const refused = await refusalOf(token, words.refused);
    if (refused === undefined) return onSignedIn(token, isStored);
    setBusy(false);
    setRefusal(refused);
    input.current!.select();
  };
  return html`<main class="narrow">
    <h1>Sign in to mucast</h1>
    <form class="sign-in" onSubmit=${submit}>
      <label for="token">${words.label}</label>
      <input id="token" ref=${input} type="password" autocomplete="off" spellcheck=${false} required aria-describedby="token-hint" />
      <p id="token-hint" class="hint">${prose(words.hint, 200)}</p>
      <label class="check">
        <input type="checkbox" checked=${isStored}
          onChange=${({ currentTarget }: TargetedEvent<HTMLInputElement>) => setStored(currentTarget.checked)} />
        <span>Remember it until this tab is closed. Otherwise it is forgotten when the page reloads.</span>
      </label>
      <button type="submit" disabled=${isBusy}>Sign in</button>
      <div role="alert">${refusal !== undefined && html`<p class="failed">${bdi(refusal, 1_000)}</p>`}</div>
    </form>
    <p class="hint"><a href="docs">API documentation</a></p>
  </main>`;
}

/** @returns why the service refuses it; undefined if the service accepts it. */
async function refusalOf(token: string, refused: string): Promise<string | undefined> {
  if (!/^[\x21-\x7e]+$/.test(token))
    return "A key or token contains only visible ASCII characters and no spaces.";
  try {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${PAGE.baseUrl}v1/queue`, { headers, redirect: "manual" });
    if (answer.ok) return undefined;
    if (answer.status === 401) return refused;
    const { detail, advice } = (await answer.json()) as Problem;
    return `${detail}. ${advice}`;
  } catch {
    return "The service does not respond. Try again when it is running.";
  }
}
