import { randomUUID } from "node:crypto";
import type { MucastClient } from "../client/index.ts";
import type { ToolOperations } from "../service/mcp/call-tool.ts";
import { asMucastError } from "./remote-error.ts";

/**
 * The operations of a service that runs elsewhere, for MCP tools. Whose they are, its credentials say.
 *
 * @param connect gives the client to use now.
 */
export function remoteOperations(connect: () => Promise<MucastClient>): ToolOperations {
  async function asked<T>(ask: (client: MucastClient) => Promise<T>): Promise<T> {
    const client = await connect();
    try {
      return await ask(client);
    } catch (error) {
      throw asMucastError(error);
    }
  }
  return {
    submit: async (_caller, { operation, payload, idempotencyKey = randomUUID() }) => {
      const submitted = await asked((client) =>
        operation === "run_ml_job"
          ? client.runMlJob(payload, { idempotencyKey })
          : client.runDlJob(payload, { idempotencyKey }),
      );
      return { operation: submitted };
    },
    get: (_caller, id) => asked((client) => client.getOperation(id)),
    forecast: (_caller, { id, ...query }) => asked((client) => client.getForecast(id, query)),
    list: (_caller, query) => asked((client) => client.listOperations(query)),
    cancel: (_caller, id) => asked((client) => client.cancelOperation(id)),
  };
}
