import type { TokenCredential } from "@azure/identity";
import { BlobServiceClient, StorageSharedKeyCredential } from "@azure/storage-blob";
import { MucastError } from "../../contract/errors/errors.ts";
import { withOptionalPackages } from "../../contract/machine/optional-packages.ts";

export type AzureCredentials =
  | { readonly kind: "key"; readonly credential: StorageSharedKeyCredential }
  /** Without its question mark. */
  | { readonly kind: "sas"; readonly sas: string }
  | { readonly kind: "token"; readonly credential: TokenCredential };

/**
 * AZURE_STORAGE_CONNECTION_STRING, else AZURE_STORAGE_SAS_TOKEN, else the SAS of BLOB_URL, else what DefaultAzureCredential finds at its
 * first use (a managed identity, `az login`, ...).
 * @param urlSas the query of BLOB_URL.
 * @throws MucastError invalid_request if they do not fit the container.
 */
export async function findCredentials(
  container: string,
  urlSas: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<AzureCredentials> {
  const connection = env.AZURE_STORAGE_CONNECTION_STRING?.trim();
  if (connection) return readConnectionString(connection, container);
  const sas = env.AZURE_STORAGE_SAS_TOKEN?.trim() || urlSas;
  if (sas) return { kind: "sas", sas: sas.replace(/^\?/, "") };
  if (container.startsWith("http:")) {
    throw unfit(`no token is sent over http, so ${container} needs one of the others`, "BLOB_URL");
  }
  const { DefaultAzureCredential } = await withOptionalPackages(
    "An Azure container without a key or a SAS",
    () => import("@azure/identity"),
  );
  return { kind: "token", credential: new DefaultAzureCredential() };
}

function readConnectionString(text: string, container: string): AzureCredentials {
  const path = "AZURE_STORAGE_CONNECTION_STRING";
  let service: BlobServiceClient;
  try {
    service = BlobServiceClient.fromConnectionString(text);
  } catch {
    // The parser's error could repeat the key.
    throw unfit(`${path} cannot be read as a connection string`, path);
  }
  const { origin, search } = new URL(service.url);
  if (origin !== new URL(container).origin) {
    throw unfit(`${path} is for ${origin}, and BLOB_URL is ${container}`, path);
  }
  const { credential } = service;
  if (credential instanceof StorageSharedKeyCredential) return { kind: "key", credential };
  return { kind: "sas", sas: search.slice(1) };
}

function unfit(message: string, path: string): MucastError {
  const advice =
    "give AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_SAS_TOKEN or a BLOB_URL with a SAS for that container";
  return new MucastError("invalid_request", `${message}; ${advice}`, { path });
}
