/**
 * A real Azurite, the emulator of Azure Blob Storage, for tests: on a free loopback port, with its blobs in memory and a made-up account.
 * It ends at `stop`, and also when the test's process dies.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import {
  BlobServiceClient,
  type ContainerClient,
  ContainerSASPermissions,
  newPipeline,
  StorageSharedKeyCredential,
} from "@azure/storage-blob";
import { AzureTransport } from "../../src/blob/azure/azure-transport.ts";
import { DEFAULT_TRANSFER_LIMITS } from "../../src/blob/policy.ts";

const AZURITE = fileURLToPath(
  new URL("../../tools/test-servers/node_modules/azurite/dist/src/blob/main.js", import.meta.url),
);
/** Certificate of a `secure` one, for NODE_EXTRA_CA_CERTS. */
export const CERTIFICATE = fileURLToPath(new URL("../certificates/localhost.cert.pem", import.meta.url));
export const CERTIFICATE_KEY = fileURLToPath(new URL("../certificates/localhost.key.pem", import.meta.url));

/** Ends the server once stdin ends. Only the server keeps stdout, so that it ends with the server. */
const WATCHER = '"$@" & pid=$!; exec >/dev/null; cat; kill -9 "$pid"; wait "$pid" 2>/dev/null; true';

const HOUR_MS = 3_600_000;

export interface Azurite {
  /** The value for MUCAST_PRIVATE_ORIGINS. */
  readonly origin: string;
  /** With the account's key. */
  readonly connectionString: string;
  /** A possible BLOB_URL. */
  containerUrl(container: string): string;
  /** Creates a container. @returns a client of it for the test's own checks. */
  newContainer(container: string): Promise<ContainerClient>;
  /** A SAS for a container, without question mark. @param permissions such as `rcwd`. */
  sasFor(container: string, permissions: string): Promise<string>;
  stop(): Promise<void>;
}

/** @param secure over https with the certificate of the tests, and with tokens too (without checking their signature). */
export async function startAzurite({ secure = false } = {}): Promise<Azurite> {
  if (!existsSync(AZURITE)) throw new Error("Azurite is not installed; npm run setup -- --dev installs it");
  const account = `test${randomBytes(4).toString("hex")}`;
  const key = randomBytes(64).toString("base64");
  const child = spawn("sh", ["-c", WATCHER, "sh", process.execPath, AZURITE, ...flags(secure)], {
    cwd: tmpdir(),
    env: { ...process.env, AZURITE_ACCOUNTS: `${account}:${key}` },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const origin = await addressOf(child);
  const endpoint = `${origin}/${account}`;
  const credential = new StorageSharedKeyCredential(account, key);
  const transport: { httpClient?: AzureTransport } = secure ? { httpClient: trusting(origin) } : {};
  const service = new BlobServiceClient(endpoint, newPipeline(credential, { ...transport }));
  const containerUrl = (container: string) => `${endpoint}/${container}`;
  return {
    origin,
    connectionString: `DefaultEndpointsProtocol=${secure ? "https" : "http"};AccountName=${account};AccountKey=${key};BlobEndpoint=${endpoint};`,
    containerUrl,
    async newContainer(container) {
      const client = service.getContainerClient(container);
      await client.create();
      return client;
    },
    async sasFor(container, permissions) {
      const url = await service.getContainerClient(container).generateSasUrl({
        permissions: ContainerSASPermissions.parse(permissions),
        expiresOn: new Date(Date.now() + HOUR_MS),
      });
      return new URL(url).search.slice(1);
    },
    async stop() {
      const ended = once(child, "exit");
      transport.httpClient?.close();
      child.stdin!.end();
      await ended;
    },
  };
}

/** The SDK's own client accepts no further certificate. Accepts bytes and text as bodies, but no streams. */
function trusting(origin: string): AzureTransport {
  const ca = readFileSync(CERTIFICATE, "utf8");
  return new AzureTransport(origin, { limits: DEFAULT_TRANSFER_LIMITS, addresses: "loopback", ca });
}

function flags(secure: boolean): string[] {
  const place = ["--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence"];
  const quiet = ["--silent", "--disableTelemetry", "--skipApiVersionCheck"];
  const tls = secure ? ["--cert", CERTIFICATE, "--key", CERTIFICATE_KEY, "--oauth", "basic"] : [];
  return [...place, ...quiet, ...tls];
}

async function addressOf(child: ChildProcess): Promise<string> {
  let told = "";
  for await (const text of child.stdout!.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    told += text;
    const address = /successfully listens on (https?:\/\/\S+)/.exec(told)?.[1];
    if (address === undefined) continue;
    child.stdout!.resume();
    return address;
  }
  throw new Error(`Azurite ended before it listened: ${told}`);
}
