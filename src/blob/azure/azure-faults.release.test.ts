import { after, before } from "node:test";
import type { ContainerClient } from "@azure/storage-blob";
import { type Azurite, startAzurite } from "../../../test/servers/azurite.testing.ts";
import { openStore } from "../open-store.ts";
import { policyOf } from "../policy.ts";
import { testFaults } from "../remote/cloud-faults.testing.ts";

let azurite: Azurite;
let container: ContainerClient;
let sas: string;
before(async () => {
  azurite = await startAzurite();
  container = await azurite.newContainer("models");
  sas = await azurite.sasFor("models", "rcwd");
});
after(() => azurite.stop());

testFaults("Azure", {
  steps: { block: "PUT block", last: "PUT blocklist" },
  origin: () => azurite.origin,
  openThrough(proxy, limits) {
    const blobUrl = azurite.containerUrl("models").replace(azurite.origin, proxy);
    const policy = policyOf({ allowed: [], privateOrigins: [proxy], blobUrl });
    return openStore(`${blobUrl}?${sas}`, { policy, env: {}, limits });
  },
  write: (key, content) => container.getBlockBlobClient(key).upload(content, content.length),
  read: async (key) => {
    const blob = container.getBlobClient(key);
    return (await blob.exists()) ? blob.downloadToBuffer() : undefined;
  },
  // Azure drops them by itself.
  unfinished: async () => 0,
});
