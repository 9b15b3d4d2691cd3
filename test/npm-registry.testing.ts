import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface NpmRegistry {
  readonly url: string;
  close(): void;
}

/**
 * A fake of npm's registry to which the package of an archive is published; it redirects requests for other packages to the real one. Like
 * npm's, it says that the package has a lock: npm ignores npm-shrinkwrap.json without that, as in an archive that it installs by path.
 */
export async function publishTo(archive: string): Promise<NpmRegistry> {
  const bytes = readFileSync(archive);
  const upstream = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim();
  const { scripts: _, devDependencies: _development, ...manifest } = manifestOf(archive);
  const server = createServer(({ url = "" }, response) => {
    if (url === "/archive.tgz") {
      response.end(bytes);
    } else if (url === `/${manifest.name}`) {
      const tarball = `${urlOf(server.address())}/archive.tgz`;
      const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
      const version = { ...manifest, _hasShrinkwrap: true, dist: { tarball, integrity } };
      const { name, version: latest } = manifest;
      response.end(JSON.stringify({ name, "dist-tags": { latest }, versions: { [latest]: version } }));
    } else {
      response.writeHead(302, { location: upstream.replace(/\/$/, "") + url }).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: urlOf(server.address()), close: () => server.close() };
}

function manifestOf(archive: string) {
  const words = ["-xzOf", archive, "package/package.json"];
  return JSON.parse(execFileSync("tar", words, { encoding: "utf8" }));
}

function urlOf(address: ReturnType<ReturnType<typeof createServer>["address"]>): string {
  return `http://127.0.0.1:${(address as AddressInfo).port}`;
}
