/** What the service promises of every operation, on both databases. */
import { after, before, describe } from "node:test";
import { cancelling } from "./cancelling.testing.ts";
import { type Core, startCore } from "./core.testing.ts";
import { DATABASES } from "./databases.testing.ts";
import { following } from "./following.testing.ts";
import { listing } from "./listing.testing.ts";
import { endServices } from "./service.testing.ts";
import { submitting, trainingNetworks } from "./submitting.testing.ts";

for (const database of DATABASES) {
  describe(`on ${database.name}`, { timeout: 600_000 }, () => {
    let core: Core;
    before(async () => {
      await database.begin();
      core = await startCore(database, { MUCAST_EVENTS_KEPT: "10" });
    });
    after(async () => {
      await endServices();
      await core?.storage.stop();
      await database.end();
    });
    for (const suite of [submitting, listing, cancelling, following]) suite(() => core);
    if (database === DATABASES[0]) trainingNetworks(() => core);
  });
}
