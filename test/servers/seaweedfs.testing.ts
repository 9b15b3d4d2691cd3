/**
 * A real SeaweedFS, a storage that speaks S3, for tests: on free loopback ports, with made-up keys and its files in a temporary folder. It
 * ends at `stop`, and also when the test's process dies.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { lockedPython } from "../../scripts/locked-python.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "./azurite.testing.ts";

const LOCK = fileURLToPath(new URL("../../tools/test-servers/requirements-s3.txt", import.meta.url));

/** Ends the server once stdin ends. */
const WATCHER = '"$@" & pid=$!; cat >/dev/null; kill -9 "$pid"; wait "$pid" 2>/dev/null; true';

/** Ports of the parts of the server, by flag. */
const PORTS = [
  "s3.port",
  "s3.port.grpc",
  "master.port",
  "master.port.grpc",
  "volume.port",
  "volume.port.grpc",
  "filer.port",
  "filer.port.grpc",
] as const;

/** Variables of the environment that give access. */
export type S3Environment = Readonly<Record<string, string>>;

export interface SeaweedFs {
  /** The value for MUCAST_PRIVATE_ORIGINS. */
  readonly origin: string;
  /** A client with all rights, for the test's own checks. */
  readonly client: S3Client;
  /** The environment of a caller with all rights, or who may only read the bucket `models`; through another origin, such as a proxy. */
  env(rights?: "all" | "read", origin?: string): S3Environment;
  newBucket(bucket: string): Promise<void>;
  stop(): Promise<void>;
}

/** @param secure over https with the certificate of the tests. */
export async function startSeaweedFs({ secure = false } = {}): Promise<SeaweedFs> {
  const folder = await mkdtemp(join(tmpdir(), "mucast-seaweedfs-"));
  const keys = { all: newKey(), read: newKey() };
  const config = join(folder, "identities.json");
  await writeFile(config, JSON.stringify(identitiesOf(keys)));
  const ports = await freePorts();
  const weed = join(dirname(lockedPython("test-servers", LOCK)), "weed");
  const tls = secure ? ["-s3.cert.file", CERTIFICATE, "-s3.key.file", CERTIFICATE_KEY] : [];
  const args = [...flags(folder, config), ...tls, ...PORTS.map((name, i) => `-${name}=${ports[i]}`)];
  const child = spawn("sh", ["-c", WATCHER, "sh", weed, "-logtostderr=true", "server", ...args], {
    cwd: folder,
    stdio: ["pipe", "ignore", "pipe"],
  });
  const origin = `${secure ? "https" : "http"}://127.0.0.1:${ports[0]}`;
  const client = new S3Client({
    endpoint: origin,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { accessKeyId: keys.all.accessKey, secretAccessKey: keys.all.secretKey },
    // SeaweedFS may refuse for a moment while its parts find each other.
    maxAttempts: 10,
    ...(secure
      ? { requestHandler: { httpsAgent: new Agent({ ca: readFileSync(CERTIFICATE, "utf8") }) } }
      : {}),
  });
  await listening(child, client);
  return {
    origin,
    client,
    env: (rights = "all", through = origin) => ({
      AWS_ENDPOINT_URL: through,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: keys[rights].accessKey,
      AWS_SECRET_ACCESS_KEY: keys[rights].secretKey,
    }),
    async newBucket(bucket) {
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
    },
    async stop() {
      const ended = once(child, "exit");
      client.destroy();
      child.stdin!.end();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type Key = ReturnType<typeof newKey>;

function newKey() {
  return { accessKey: `key${randomBytes(8).toString("hex")}`, secretKey: randomBytes(20).toString("hex") };
}

function identitiesOf({ all, read }: { all: Key; read: Key }) {
  return {
    identities: [
      { name: "all", credentials: [all], actions: ["Admin", "Read", "Write", "List"] },
      { name: "read", credentials: [read], actions: ["Read:models", "List:models"] },
    ],
  };
}

function flags(folder: string, config: string): string[] {
  const here = ["-dir", folder, "-ip", "127.0.0.1", "-ip.bind", "127.0.0.1", "-filer", "-s3"];
  const alone = ["-master.telemetry=false", "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0"];
  const rules = ["-s3.config", config, "-s3.autoCreateBucket=false"];
  return [...here, ...alone, ...rules, "-volume.max=100", "-master.volumeSizeLimitMB=1024"];
}

/** Below the ports that the system chooses by itself, so that no other test gets one of them a moment later. */
const FIRST_PORT = 12_000;
const BLOCKS = 2_000;

/** A free block of ports; that of another process is another one. */
async function freePorts(): Promise<readonly number[]> {
  for (let block = process.pid; ; block++) {
    const first = FIRST_PORT + (block % BLOCKS) * PORTS.length;
    const ports = PORTS.map((_, i) => first + i);
    const isFree = await Promise.all(ports.map(isFreePort));
    if (!isFree.includes(false)) return ports;
  }
}

function isFreePort(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** @throws Error with the last lines of its log if the server ends before it creates a bucket. */
async function listening(child: ChildProcess, client: S3Client): Promise<void> {
  let log = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    log = (log + text).slice(-5_000);
  });
  for (;;) {
    if (child.exitCode !== null) throw new Error(`SeaweedFS ended before it listened: ${log}`);
    try {
      await client.send(new CreateBucketCommand({ Bucket: "ready" }));
      return;
    } catch {
      await pause(100);
    }
  }
}
