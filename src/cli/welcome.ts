import { SETUP_COMMANDS } from "../engine/environment/environment.ts";
import { submitLine, uploadLines } from "../service/http/page/quick-start.ts";
import type { ServiceSettings } from "../service/settings/load-settings.ts";

type WelcomeSettings = Pick<ServiceSettings, "auth" | "oidc_issuer" | "database_url" | "data_dir">;

const WAIT_SECONDS = 60;

/**
 * What `mucast serve` prints: its address, and lines of curl that run a job on the example blobs.
 * @param hasEngine whether there is a Python environment, without which jobs fail.
 */
export function welcome(address: string, settings: WelcomeSettings, hasEngine: boolean): string {
  const asking = { origin: address, hasCredentials: settings.auth !== "none" };
  const first = [...firstSteps(settings), ...(hasEngine ? [] : [NO_ENGINE])];
  const lines = [...uploadLines(asking), submitLine(asking, WAIT_SECONDS)];
  return `mucast listens on ${address}
${first.map((step) => `\n${step}\n`).join("")}
A job on the example blobs:

${indented(lines.join("\n"))}

  docs     ${address}/docs
  OpenAPI  ${address}/openapi.json
  MCP      ${address}/mcp
`;
}

/** As this process was called: `npm run mucast` in a checkout, which may have no `mucast` to call. */
const COMMAND = process.env.npm_lifecycle_event === "mucast" ? "npm run --silent mucast --" : "mucast";

const NO_ENGINE = `There is no Python environment, so jobs will fail: \`${SETUP_COMMANDS.ml}\` makes it.`;

/** What a caller has to have before the lines work. */
function firstSteps({ auth, oidc_issuer, database_url, data_dir }: WelcomeSettings): string[] {
  if (auth === "none") return [];
  if (auth === "oidc") return [`The lines below take an access token of ${oidc_issuer} from MUCAST_KEY.`];
  const place = database_url === undefined ? ` --data-dir '${data_dir.replaceAll("'", "'\\''")}'` : "";
  return [
    `The lines below take a key from MUCAST_KEY; this makes one:\n\n  export MUCAST_KEY=$(${COMMAND} keys create --name me${place})`,
  ];
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, "  ");
}
