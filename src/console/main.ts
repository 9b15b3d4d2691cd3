import { uploadFetch } from "./inputs/upload-fetch.ts";
import { Credentials, PAGE } from "./session.ts";
import { showShell } from "./shell.ts";
import { showSignIn } from "./views/sign-in-view.ts";

const credentials = new Credentials();
start();

/** Shows the sign-in if the service needs credentials and there are none, otherwise the console. */
function start(message?: string): void {
  const token = PAGE.auth === "none" ? undefined : credentials.token;
  if (PAGE.auth !== "none" && token === undefined) {
    showSignIn({
      message,
      onSignedIn: (given, isStored) => {
        credentials.keep(given, isStored);
        start();
      },
    });
    return;
  }
  showShell({
    token,
    fetch: uploadFetch,
    onSignOut: (reason) => {
      credentials.forget();
      start(reason);
    },
  });
}
