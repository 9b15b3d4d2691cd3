import type { Command } from "commander";
import type { McpFlags } from "./serve-mcp.ts";

/** Adds `mucast mcp`. What it serves with is loaded only by this command. */
export function addMcp(program: Command): void {
  program
    .command("mcp")
    .description("serve the jobs to an agent, as MCP tools over stdin and stdout")
    .option("--url <url>", "a service elsewhere; its key is taken from MUCAST_API_KEY")
    .option("--data-dir <folder>", "database and blobs [env: MUCAST_DATA_DIR]")
    .option("--settings <file>", "settings as JSON; see docs/configuration.md [env: MUCAST_SETTINGS]")
    .addHelpText("after", HELP)
    .action(async (flags: McpFlags) => {
      const { serveMcp } = await import("./serve-mcp.ts");
      await serveMcp(flags, process.env);
    });
}

const HELP = `
Examples:
  mucast mcp
  MUCAST_API_KEY=mucast_… mucast mcp --url https://forecasts.example.com

Without --url it talks to the service that has the data folder open, or starts one there, on this machine alone, which
ends with stdin; jobs that run then are taken up again by the next start. For long jobs have \`mucast serve\` running.

stdout carries the protocol and nothing else; stderr the log. docs/mcp.md tells how to name it in an MCP client.`;
