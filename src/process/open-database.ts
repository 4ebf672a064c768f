import { bootstrapAccount } from '../db/accounts.ts';
import { type Address, addressOf } from '../db/connection/address.ts';
import { Cipher } from '../db/connection/cipher.ts';
import { Database } from '../db/connection/database.ts';
import type { Hosts } from '../db/connection/hosts.ts';
import { checkPooling } from '../db/connection/pooler.ts';
import { preflight } from '../db/connection/preflight.ts';
import { joinEmbedded, startEmbedded } from '../db/embedded/server.ts';
import { chooseKey, encryptPlain, encryptStored } from '../db/queues/encrypt-stored.ts';
import { assertOwnSchema, migrate, schemaReport } from '../db/schema/migrate.ts';
import { assertNotMoved } from '../db/schema/moved.ts';
import { type Repeated, repeat } from '../pacing/repeat.ts';
import { describeApiKey, generateApiKey, isPlausibleApiKey } from '../services/accounts/api-key.ts';
import type { Logger } from '../telemetry/log.ts';
import { installWakeUps } from '../worker/wake-ups/runner.ts';
import type { Config } from './config.ts';
import { VERSION } from './version.ts';

export interface OpenDatabase {
  /** For connections that need a session. */
  url: Address;
  db: Database;
  /** The database in words, for messages. */
  name: string;
  /** Names of the migrations that opening applied. */
  applied: string[];
  /** Whether a later release has migrated the database, and this process runs beside it. */
  runsBeside: boolean;
  close(): Promise<void>;
}

/** File with the first API key of an embedded database, beside the file with the database's password. */
const KEY_FILE = 'api-key';

/** How often a process with several database hosts looks which one is the primary. */
const PRIMARY_CHECK_MS = 2000;

export interface OpenOptions {
  /**
   * For admin commands: uses the embedded database of a running Jobferry, and creates no first account, because the
   * first start of the service does that and shows its key.
   */
  guest: boolean;
  /** Whether opening may change the schema of the database: always, only to create it where there is none, or never. */
  migrates: 'always' | 'if empty' | 'never';
  /** For `doctor`: opens any database that answers, and neither refuses nor migrates it. */
  asItIs?: boolean;
  /** Called with the first account's key if opening creates it; the database does not store the key. */
  onNewApiKey?: (key: string) => void;
}

/**
 * Connects to the database, starting the embedded one if needed, and migrates it, or sees that it needs no migration.
 * @throws Error with a message for the operator
 */
export async function openDatabase(config: Config, log: Logger, options: OpenOptions): Promise<OpenDatabase> {
  const embedded = config.databaseUrl === undefined ? await openEmbedded(config, log, options) : null;
  const address = addressOf(embedded?.url ?? config.databaseUrl ?? '', log);
  const direct = config.directDatabaseUrl === undefined ? null : addressOf(config.directDatabaseUrl, log);
  const url = direct ?? address;
  const db = new Database(address, log, new Cipher(config.encryptionKeys), direct);
  const watch = typeof url === 'string' ? null : watchPrimary(url, log);
  const close = async () => {
    try {
      await watch?.stop();
      await db.close();
    } finally {
      await embedded?.stop();
    }
  };
  const name = embedded === null ? 'the database of DATABASE_URL' : `the embedded database in ${config.dataDir}`;
  if (options.asItIs === true) return { url, db, name, applied: [], runsBeside: false, close };
  try {
    const faults = await preflight(db.pool, { allowUnsafe: config.allowUnsafeDurability, name });
    if (!options.guest) for (const { what, fix } of faults) log.warn({ fix }, what);
    await checkPooling(db);
    let newApiKey: string | null = null;
    const mayMigrate = options.migrates === 'always' || (options.migrates === 'if empty' && (await isEmpty(db)));
    if (options.guest && !mayMigrate) {
      await assertOwnSchema(db.sessionPool);
      return { url, db, name, applied: [], runsBeside: false, close };
    }
    const { applied, beside } = await migrate({
      url,
      log,
      mayMigrate,
      mayRunBeside: !options.guest,
      afterMigrations: async () => {
        if (mayMigrate) await installWakeUps(url);
        if (options.guest) return;
        await assertNotMoved(db);
        await encrypt(config, db, log);
        newApiKey = await bootstrap(config, db);
        if (newApiKey !== null) options.onNewApiKey?.(newApiKey);
      },
    });
    if (newApiKey !== null && embedded !== null) {
      await embedded.keep(KEY_FILE, `${newApiKey}\n`);
    }
    if (beside !== undefined) await startBeside(beside, config, db, log);
    return { url, db, name, applied, runsBeside: beside !== undefined, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function isEmpty(db: Database): Promise<boolean> {
  return (await schemaReport(db.sessionPool)).isEmpty;
}

/** A command that may not create the schema is of no use in an empty database, so it creates none. */
function openEmbedded({ dataDir }: Config, log: Logger, { guest, migrates }: OpenOptions) {
  return guest ? joinEmbedded({ dataDir, log, mayCreate: migrates !== 'never' }) : startEmbedded({ dataDir, log });
}

/**
 * Otherwise a process whose connections stay open would not notice that a former primary has come back behind the
 * present one.
 */
function watchPrimary(hosts: Hosts, log: Logger): Repeated {
  // A failure is logged by the search.
  return repeat(PRIMARY_CHECK_MS, log, 'looking for the primary', () =>
    hosts.primary().then(
      () => undefined,
      () => undefined,
    ),
  );
}

const periodsOf = (config: Config) => ({ retentionMs: config.jobRetentionMs, lifetimeMs: config.jobLifetimeMs });

/** The process changes nothing: it may not know all that is stored. */
async function startBeside(release: string, config: Config, db: Database, log: Logger): Promise<void> {
  await assertNotMoved(db);
  await chooseKey(db, periodsOf(config));
  const what = `the database is of a later release (${release}): this process runs beside it`;
  log.warn({ version: VERSION, release }, `${what}, changes nothing of the schema, and does no retention sweep`);
}

async function encrypt(config: Config, db: Database, log: Logger): Promise<void> {
  const queues = await encryptStored(db, periodsOf(config));
  const { keyId, firstKeyId } = db.cipher;
  if (keyId !== firstKeyId)
    log.warn({ keyId: firstKeyId }, 'a new key encrypts nothing yet: a running process does not have it');
  if (keyId !== null) log.info({ keyId, newlyEncrypted: queues }, 'encrypting at rest');
}

/** Encrypts with the first key as soon as every running process has it. */
export async function encryptLater(config: Config, { db, runsBeside }: OpenDatabase, log: Logger): Promise<void> {
  const { keyId: before, firstKeyId } = db.cipher;
  if (before === firstKeyId) return;
  if (runsBeside) return chooseKey(db, periodsOf(config));
  const queues = await encryptStored(db, periodsOf(config));
  const { keyId } = db.cipher;
  if (keyId !== before) log.info({ keyId, newlyEncrypted: queues }, 'encrypting at rest');
}

/** Encrypts what processes without a key have stored meanwhile. */
export async function encryptOthers({ db, runsBeside }: OpenDatabase, log: Logger): Promise<void> {
  if (runsBeside) return;
  const queues = await encryptPlain(db);
  if (queues > 0)
    log.warn(
      { newlyEncrypted: queues },
      'signing secrets were stored without encryption: a process lacks ENCRYPTION_KEY',
    );
}

async function bootstrap(config: Config, db: Database): Promise<string | null> {
  if (config.bootstrapApiKey !== undefined && !isPlausibleApiKey(config.bootstrapApiKey)) {
    throw new Error('BOOTSTRAP_API_KEY: has the prefix of the keys that Jobferry makes, but a wrong checksum');
  }
  return bootstrapAccount(db, {
    plan: config.bootstrapPlan,
    knownKey: config.bootstrapApiKey === undefined ? null : describeApiKey(config.bootstrapApiKey),
    newKey: () => {
      const key = generateApiKey();
      return { key, stored: describeApiKey(key) };
    },
  });
}
