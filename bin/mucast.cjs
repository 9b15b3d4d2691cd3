#!/usr/bin/env node
// Every Node since 14 reads this file, so an old one gets as far as the sentence below.
if (Number(process.versions.node.split(".")[0]) < 24) {
  process.stderr.write(`mucast needs Node 24 or later; this is Node ${process.versions.node}\n`);
  process.exit(1);
}
import("../dist/cli/main.js").catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
