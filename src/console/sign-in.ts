import type { TargetedEvent, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../view/html.ts";
import { bdi, prose } from "../view/text.ts";
import { PAGE } from "./service.ts";

const WORDS = {
  keys: { label: "API key", hint: "As printed by `mucast keys create`: mucast_, an id and a secret." },
  oidc: { label: "Access token", hint: "A JWT from the issuer that this service trusts." },
} as const;

interface SignInProps {
  /** Why the reader has to sign in again. */
  readonly message: string | undefined;
  onSignedIn(token: string, isStored: boolean): void;
}

/** Asks for a key or a token, which the first request of the console tries. */
export function SignIn({ message, onSignedIn }: SignInProps): VNode {
  const words = WORDS[PAGE.auth === "oidc" ? "oidc" : "keys"];
  const input = useRef<HTMLInputElement>(null);
  const [isStored, setStored] = useState(false);
  useEffect(() => {
    document.title = "Sign in · mucast";
    input.current!.focus();
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    onSignedIn(input.current!.value.trim().replace(/^Bearer\s+/i, ""), isStored);
  };
  return html`<main class="narrow">
    <h1>Sign in to mucast</h1>
    <form class="sign-in" onSubmit=${submit}>
      <label for="token">${words.label}</label>
      <input id="token" ref=${input} type="password" autocomplete="off" spellcheck=${false} required aria-describedby="token-hint"
        pattern="\\s*(?:[Bb]earer\\s+)?[\\x21-\\x7e]+\\s*" title="Only visible ASCII characters, no spaces" />
      <p id="token-hint" class="hint">${prose(words.hint, 200)}</p>
      <label class="check">
        <input type="checkbox" checked=${isStored}
          onChange=${({ currentTarget }: TargetedEvent<HTMLInputElement>) => setStored(currentTarget.checked)} />
        <span>Remember it until this tab is closed. Otherwise it is forgotten when the page reloads.</span>
      </label>
      <button type="submit">Sign in</button>
      <div role="alert">${message !== undefined && html`<p class="failed">${bdi(message, 1_000)}</p>`}</div>
    </form>
    <p class="hint"><a href="docs">API documentation</a></p>
  </main>`;
}
