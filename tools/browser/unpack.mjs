// Unpacks the browser of @sparticuz/chromium beside it: the program, the libraries that it needs beyond glibc, and a font,
// so that tests run and pages look alike on every Linux. Set-up runs this once after each installation.
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inflate } from "@sparticuz/chromium";

const MODULES = join(import.meta.dirname, "node_modules");
const PACKED = join(MODULES, "@sparticuz/chromium/bin");
const UNPACKED = join(MODULES, ".chromium");
const STAGED = `${UNPACKED}.staged`;

rmSync(STAGED, { recursive: true, force: true });
rmSync(UNPACKED, { recursive: true, force: true });
mkdirSync(STAGED);
// The package unpacks into the system's temporary folder, whichever that is.
process.env.TMPDIR = STAGED;
for (const archive of ["chromium.br", "al2023.tar.br", "fonts.tar.br"]) await inflate(join(PACKED, archive));
chmodSync(join(STAGED, "chromium"), 0o755);
// A relative folder of the cache would be one of wherever the browser is started.
writeFileSync(
  join(STAGED, "fonts.conf"),
  `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir prefix="relative">fonts/fonts</dir>
<cachedir>${join(UNPACKED, "font-cache")}</cachedir>
</fontconfig>
`,
);
renameSync(STAGED, UNPACKED);
