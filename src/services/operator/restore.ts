import { setTimeout as sleep } from 'node:timers/promises';
import { AUDITED_IDS } from '../../db/audit.ts';
import type { Address } from '../../db/connection/address.ts';
import { isEncrypted } from '../../db/connection/cipher.ts';
import type { Database } from '../../db/connection/database.ts';
import { rollUp } from '../../db/insight/statistics.ts';
import {
  analyzeRestored,
  areStatisticsPast,
  foreignRows,
  type PresentAccount,
  presentAccount,
  Restoration,
} from '../../db/operator/backup/restoration.ts';
import { BACKED_UP, OF_ACCOUNT } from '../../db/operator/backup/tables.ts';
import { resumeAccount } from '../../db/operator/suspension.ts';
import { ownMigrations } from '../../db/schema/migrations.ts';
import type { Actor } from '../../domain/audit.ts';
import { type BackupEnd, BackupError, type BackupHeader, doubtOf, refusalOf, signedText } from '../../domain/backup.ts';
import type { Periods } from '../../domain/periods.ts';
import { readBackupFile } from './backup-file.ts';

/** Rows and characters that are collected for one statement of each table. */
const ROWS = 500;
const CHARACTERS = 4 * 1024 * 1024;
/** Accounts that are looked up together. */
const ACCOUNTS = 500;
/** How long the statistics may take to pass the time of the backup; a forgotten transaction delays them by a minute. */
const STATISTICS_MS = 90_000;
const POLL_MS = 250;

interface RestoreOptions {
  url: Address;
  actor: Actor;
  /** Null for all accounts of the file. */
  accountId: string | null;
  periods: Periods;
  /** Whether the accounts are resumed at once. */
  resume: boolean;
  /** Whether the operator's account of the file becomes the operator's here. */
  operator: boolean;
  /** Whether a file is accepted that has no signature of a key of ENCRYPTION_KEY. */
  unsigned: boolean;
  /** Largest payload of a job in bytes, for the bound of a line of the file. */
  maxBodyBytes: number;
  /** Called with the part of the file that was read, from 0 to 1. */
  progress: (step: 'verifying' | 'restoring', rows: number, of: number | null) => void;
}

export interface RestoredAccount {
  id: string;
  name: string;
  plan: string;
  /** Whether it was suspended when the backup was made. */
  wasSuspended: boolean;
  /** Jobs that were being delivered when the backup was made. They are delivered again. */
  interrupted: number;
  /** Jobs that were delivered and waited for a report. They still wait. */
  awaitingAck: number;
}

interface RestoreResult {
  header: BackupHeader;
  end: BackupEnd;
  rows: Record<string, number>;
  accounts: RestoredAccount[];
}

interface CheckOptions
  extends Pick<RestoreOptions, 'accountId' | 'operator' | 'unsigned' | 'maxBodyBytes' | 'progress'> {
  /** Whether the database has no schema yet, and so no accounts. */
  isEmpty?: boolean;
}

/** Tables whose rows name their account. The owner of the others is known when they are inserted. */
const OWNED = new Set(['queue', 'job', ...OF_ACCOUNT.map(({ name }) => name)]);

/**
 * Reads a backup to its end, and finds out whether it can be restored. Writes nothing.
 * @returns `refusal`: why it cannot be restored here; null if it can
 * @throws BackupError if the file is damaged, incomplete or no backup
 */
export async function checkBackup(
  db: Database,
  path: string,
  { accountId, operator, unsigned, maxBodyBytes, progress, isEmpty = false }: CheckOptions,
): Promise<{ header: BackupHeader; end: BackupEnd; refusal: string | null }> {
  let ids: string[] = [];
  let isFound = false;
  let owner = '';
  let foreign: string | null = null;
  let hasOperators = false;
  let rows = 0;
  let present: PresentAccount | null = null;
  const lookUp = async () => {
    if (ids.length > 0 && !isEmpty) present ??= await presentAccount(db, ids);
    ids = [];
  };
  const { header, end } = await readBackupFile(path, {
    maxBodyBytes,
    row: async (table, json) => {
      rows += 1;
      progress('verifying', rows, null);
      if (OWNED.has(table) && ownerOf(json) !== owner) foreign ??= table;
      if (table !== 'account') return;
      const id = idOf(json);
      owner = id;
      if (accountId !== null && id !== accountId) return;
      ids.push(id);
      isFound = true;
      hasOperators ||= isOperators(json);
      if (ids.length >= ACCOUNTS) await lookUp();
    },
  });
  await lookUp();
  const { cipher } = db;
  const unreadable = refusalOf(header, end, {
    migrations: ownMigrations(),
    knowsKey: (id) => cipher.knows(id),
    hasKey: cipher.keyId !== null,
  });
  const doubt = doubtOf(end, {
    hasKey: cipher.keyId !== null,
    unsigned,
    verify: (signature) => cipher.verify(signedText(end), signature),
  });
  const mixed = foreign === null ? null : foreignRows(foreign);
  const missing = accountId === null || isFound ? null : `the backup does not have the account ${accountId}`;
  const conflicting = present === null ? null : conflict(present);
  const useless =
    operator && !hasOperators ? 'no account to be restored is the one of an operator: leave out --operator' : null;
  const refusal = unreadable ?? doubt ?? mixed ?? missing ?? conflicting ?? useless;
  return { header, end, refusal };
}

/** @returns an empty text for a row of a damaged file, which is refused at its end */
function idOf(json: string): string {
  try {
    return String((JSON.parse(json) as { id?: unknown }).id);
  } catch {
    return '';
  }
}

function ownerOf(json: string): string {
  try {
    return String((JSON.parse(json) as { account_id?: unknown }).account_id);
  } catch {
    return '';
  }
}

function isOperators(json: string): boolean {
  try {
    return (JSON.parse(json) as { is_operator?: unknown }).is_operator === true;
  } catch {
    return false;
  }
}

function conflict({ id, name, isBeingDeleted, isOperators: isTheirs }: PresentAccount): string {
  const fix = `account delete ${id} --confirm ${JSON.stringify(name)}`;
  if (isBeingDeleted) return `account ${id} is being deleted: let \`${fix}\` end first`;
  return (
    `account ${id} (${name}) exists here already, and a restore changes no account: use an empty database` +
    (isTheirs ? '' : `, or delete the account first with \`${fix}\``)
  );
}

/**
 * Restores accounts from a backup, in one transaction. The service may run meanwhile. The accounts are suspended
 * afterwards unless `resume` is true, because jobs that were delivered after the backup would be delivered again.
 * @throws BackupError if the file is damaged, or cannot be restored here; nothing was written then
 */
export async function restore(db: Database, path: string, options: RestoreOptions): Promise<RestoreResult> {
  const { url, accountId, periods, progress } = options;
  const { header, end, refusal } = await checkBackup(db, path, options);
  if (refusal !== null) throw new BackupError(refusal);
  await untilCounted(db, header.madeAt, periods.retentionMs);
  const total = Object.values(end.rows).reduce((sum, rows) => sum + rows, 0);
  const result = await Restoration.run({ db, url }, header, async (restoration) => {
    await restoration.decideOperator(options.operator);
    const load = new Load(db, restoration, options, header);
    let rows = 0;
    let isWanted = true;
    const again = await readBackupFile(path, {
      maxBodyBytes: options.maxBodyBytes,
      row: async (table, json) => {
        rows += 1;
        progress('restoring', rows, total);
        if (table === 'account') isWanted = accountId === null || idOf(json) === accountId;
        if (table === 'account_deletion' && accountId !== null) return;
        if (isWanted) await load.add(table, json);
      },
    });
    // Its signature was verified at the first reading.
    if (again.end.sha256 !== end.sha256) throw new BackupError(`${path} was exchanged meanwhile: nothing was restored`);
    await load.finish();
    return load;
  });
  await analyzeRestored({ url }).catch((error: unknown) => {
    db.log.warn({ err: error }, 'the restored tables could not be analyzed: autovacuum does it');
  });
  const accounts = [...result.accounts.values()];
  if (options.resume) {
    for (const { id, wasSuspended } of accounts) {
      if (!wasSuspended) await resumeAccount(db, options.actor, id, periods.lifetimeMs);
    }
  }
  return { header, end, rows: result.rows, accounts };
}

/** The statistics have the attempts of the backup. Those in the tables must not be added a second time. */
async function untilCounted(db: Database, madeAt: string, retentionMs: number): Promise<void> {
  const giveUpAt = performance.now() + STATISTICS_MS;
  for (;;) {
    while (await rollUp(db, retentionMs)) {
      // Step by step, so that no statement takes long.
    }
    if (await areStatisticsPast(db, madeAt, retentionMs)) return;
    if (performance.now() > giveUpAt) {
      throw new BackupError(
        `the backup was made at ${madeAt}, which the clock of this database has not reached: set its clock right`,
      );
    }
    await sleep(POLL_MS);
  }
}

/** Collects rows, and inserts them in an order in which foreign keys hold. */
class Load {
  readonly #db: Database;
  readonly #restoration: Restoration;
  readonly #options: RestoreOptions;
  readonly #header: BackupHeader;
  readonly #collected = new Map<string, string[]>();
  /**
   * Ids of the accounts that the collected rows must belong to: the rows of an account follow the row of the account.
   */
  #owners: string[] = [];
  #count = 0;
  #characters = 0;
  readonly accounts = new Map<string, RestoredAccount>();
  /** Ids of jobs that were being delivered, by account; only the first ones, for the audit log. */
  readonly #interrupted = new Map<string, string[]>();
  readonly rows: Record<string, number> = {};

  constructor(db: Database, restoration: Restoration, options: RestoreOptions, header: BackupHeader) {
    this.#db = db;
    this.#restoration = restoration;
    this.#options = options;
    this.#header = header;
  }

  async add(table: string, json: string): Promise<void> {
    if (table === 'account') await this.#account(json);
    const row = table === 'queue' || table === 'alert_rule' ? this.#encrypted(json) : json;
    const rows = this.#collected.get(table) ?? [];
    rows.push(row);
    this.#collected.set(table, rows);
    this.rows[table] = (this.rows[table] ?? 0) + 1;
    this.#count += 1;
    this.#characters += row.length;
    if (this.#count >= ROWS || this.#characters >= CHARACTERS) await this.#flush();
  }

  async finish(): Promise<void> {
    await this.#flush();
    const { madeAt, release } = this.#header;
    for (const account of this.accounts.values()) {
      const { interrupted, awaitingAck } = account;
      const jobIds = this.#interrupted.get(account.id) ?? [];
      await this.#restoration.audit(this.#options.actor, account, {
        madeAt,
        release,
        interrupted,
        awaitingAck,
        jobIds,
      });
    }
  }

  async #account(json: string): Promise<void> {
    const {
      id,
      name,
      plan,
      suspended_at: since,
    } = JSON.parse(json) as Record<string, string> & { suspended_at?: string };
    const account = { id: id ?? '', name: name ?? '', plan: plan ?? '' };
    this.#owners.push(account.id);
    this.accounts.set(account.id, { ...account, wasSuspended: since != null, interrupted: 0, awaitingAck: 0 });
    await this.#restoration.forgetDeletion(account.id);
  }

  /**
   * Secrets that are not encrypted in the file are encrypted here, as each start does it with those in the database.
   */
  #encrypted(json: string): string {
    const { cipher } = this.#db;
    if (cipher.keyId === null) return json;
    const row = JSON.parse(json) as { id: string; signing_secret: string; next_signing_secret?: string | null };
    for (const column of ['signing_secret', 'next_signing_secret'] as const) {
      const secret = row[column];
      if (secret != null && !isEncrypted(secret)) row[column] = cipher.encrypt(`signing-secret:${row.id}`, secret);
    }
    return JSON.stringify(row);
  }

  async #flush(): Promise<void> {
    for (const { name } of BACKED_UP) {
      const rows = this.#collected.get(name);
      if (rows === undefined) continue;
      for (const { accountId, interrupted, awaitingAck } of await this.#restoration.insert(name, rows, this.#owners)) {
        const account = this.accounts.get(accountId);
        if (account === undefined) continue;
        account.interrupted += interrupted.length;
        account.awaitingAck += awaitingAck;
        const known = this.#interrupted.get(accountId) ?? [];
        this.#interrupted.set(accountId, [...known, ...interrupted].slice(0, AUDITED_IDS));
      }
      this.#collected.delete(name);
    }
    const unknown = [...this.#collected.keys()];
    if (unknown.length > 0)
      throw new BackupError(`the backup has rows of ${unknown.join(', ')}, which this release does not know`);
    this.#owners = this.#owners.slice(-1);
    this.#count = 0;
    this.#characters = 0;
  }
}
