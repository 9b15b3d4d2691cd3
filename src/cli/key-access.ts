import { readHolder } from "../service/lock/lock-holder.ts";
import { loadSettings, type ServiceSettings } from "../service/settings/load-settings.ts";
import { answering } from "./folder-service.ts";
import { type Keys, ServedKeys } from "./served-keys.ts";

/**
 * Gives `body` the keys of the settings: those in PostgreSQL, those of the service that has the data folder open, or
 * those in the folder, which nobody else may open meanwhile.
 * @throws MucastError unavailable where the database or that service does not answer.
 */
export async function withKeys<T>(
  { dataDir, settings: file }: { readonly dataDir?: string; readonly settings?: string },
  body: (keys: Keys) => Promise<T>,
): Promise<T> {
  const settings = loadSettings({ data_dir: dataDir, settings: file }, process.env);
  if (settings.database_url !== undefined) return inDatabase(settings, body);
  if (readHolder(settings.data_dir) !== undefined) {
    const { address, token } = await answering(settings.data_dir);
    return body(new ServedKeys(address, token!));
  }
  const { lockDataFolder } = await import("../service/lock/data-lock.ts");
  const lock = lockDataFolder(settings.data_dir);
  try {
    return await inDatabase(settings, body);
  } finally {
    lock.release();
  }
}

async function inDatabase<T>(settings: ServiceSettings, body: (keys: Keys) => Promise<T>): Promise<T> {
  const { openDatabase } = await import("../service/database/database.ts");
  const { DatabaseKeyStore } = await import("../service/auth/key-store.ts");
  const database = await openDatabase({
    databaseUrl: settings.database_url,
    connections: 1,
    dataDir: settings.data_dir,
  });
  try {
    return await body(new DatabaseKeyStore(database));
  } finally {
    await database.close();
  }
}
