/** Compiles src/ into dist/, notes the commit there, and copies Swagger UI to web/, for the npm package. */
import { spawnSync } from "node:child_process";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { SWAGGER_FILES } from "../src/service/http/page-routes.ts";
import { commitToBuild } from "./tree-commit.ts";

// Before the build writes anything.
const commit = commitToBuild(process.env);

rmSync("dist", { recursive: true, force: true });
// The console is compiled with a browser's types, and includes the client, which the second run overwrites.
for (const project of ["src/console/tsconfig.build.json", "tsconfig.build.json"]) {
  // Four checkers take as long as one, and do twice the work.
  const args = ["node_modules/typescript/bin/tsc", "-p", project, "--checkers", "1"];
  const { status, error } = spawnSync(process.execPath, args, { stdio: ["ignore", 2, 2] });
  if (error) throw error;
  process.exitCode ||= status ?? 1;
}

if (commit !== undefined) writeFileSync("dist/commit", `${commit}\n`);

const swagger = "node_modules/@fastify/swagger-ui/static";
for (const name of SWAGGER_FILES) cpSync(`${swagger}/${name}`, `web/swagger-ui/${name}`);
writeFileSync(
  "web/swagger-ui/NOTICE",
  "Swagger UI, copyright SmartBear Software Inc., licensed under the Apache License 2.0, as packaged by @fastify/swagger-ui (MIT).\n",
);
