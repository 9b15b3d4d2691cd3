/** Preloaded into a process: records, at its end, which packages it has loaded. */
import { writeFileSync } from "node:fs";
import { registerHooks } from "node:module";

const packages = new Set();

registerHooks({
  load(url, context, next) {
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
    if (name !== undefined) packages.add(name);
    return next(url, context);
  },
});

process.on("exit", () => writeFileSync(process.env.LOADED_MODULES, [...packages].join("\n")));
