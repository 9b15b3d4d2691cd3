import { MucastClient } from "../client/index.ts";
import { uploadFetch } from "./forms/upload-fetch.ts";
import { Credentials, PAGE } from "./session.ts";
import { showShell } from "./shell.ts";
import { showSignIn } from "./views/sign-in-view.ts";

const credentials = new Credentials();
start();

/** Shows the sign-in where the service needs credentials and there are none, else the console. */
function start(said?: string): void {
  const { token } = credentials;
  if (PAGE.auth !== "none" && token === undefined) {
    showSignIn({
      said,
      onSignedIn: (given, isStored) => {
        credentials.keep(given, isStored);
        start();
      },
    });
    return;
  }
  const client = new MucastClient({
    baseUrl: PAGE.baseUrl,
    fetch: uploadFetch,
    ...(token === undefined ? {} : { apiKey: token }),
  });
  showShell(client, {
    onSignOut: (reason) => {
      credentials.forget();
      start(reason);
    },
  });
}
