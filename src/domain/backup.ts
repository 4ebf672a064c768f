/**
 * The form of a backup: lines of JSON, compressed with gzip. The first line is the header, the last one the end;
 * between them each line is `["table",{…}]`, a row as PostgreSQL writes it. The rows of an account follow the row of
 * the account, and the rows of a queue the row of the queue.
 */

const FORMAT = 'jobferry-backup';
/** Raised when an older release could not read the lines. New tables and columns do not raise it. */
const VERSION = 1;

export interface BackupHeader {
  format: typeof FORMAT;
  version: number;
  /** Release of Jobferry that made the backup. */
  release: string;
  /** Names of the migrations of the database. */
  migrations: readonly string[];
  /** Time of the snapshot by the database's clock, in ISO 8601. */
  madeAt: string;
  /** The account of the backup; null for all accounts. */
  account: string | null;
  /** Columns of each table, because a later release may have more. */
  columns: Readonly<Record<string, readonly string[]>>;
}

export interface BackupEnd {
  /** Number of rows by table. */
  rows: Readonly<Record<string, number>>;
  /** Ids of the encryption keys that signing secrets, payloads or answers in the file are encrypted with. */
  keys: readonly string[];
  /** Whether a live queue encrypts its payloads, for which any key is enough. */
  encrypts: boolean;
  /** SHA-256 of all lines before, in hexadecimal digits. */
  sha256: string;
  /**
   * HMAC of the facts above, and so of the whole file. Missing if there was no ENCRYPTION_KEY,
   * or in an earlier release.
   */
  signature?: { readonly key: string; readonly hmac: string };
}

/** The file or the database does not permit what was asked for. The message is for the operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

export function headerOf(facts: Omit<BackupHeader, 'format' | 'version'>): BackupHeader {
  return { format: FORMAT, version: VERSION, ...facts };
}

/** @throws BackupError if the line is not the header of a backup that this release can read */
export function readHeader(line: string): BackupHeader {
  const header = parsed(line) as Partial<BackupHeader> | null;
  if (header?.format !== FORMAT) throw new BackupError('the file is not a backup of Jobferry');
  if (header.version !== VERSION) {
    throw new BackupError(
      `the backup was made by a later release of Jobferry (${header.release}): restore it with that release`,
    );
  }
  return header as BackupHeader;
}

/** @returns null if the line is a row */
export function readEnd(line: string): BackupEnd | null {
  if (!line.startsWith('{"end":')) return null;
  return (parsed(line) as { end?: BackupEnd } | null)?.end ?? null;
}

/** The text that the signature of a backup is made of. */
export function signedText({ rows, keys, encrypts, sha256 }: BackupEnd): string {
  return JSON.stringify({ rows, keys, encrypts, sha256 });
}

/**
 * Returns why a signature does not show that the backup is one of this installation; null if it does.
 * @param here `hasKey`: whether there is a key to verify with; `unsigned`: whether a file without a signature of these
 * keys is accepted; `verify` returns null for an unknown key
 */
export function doubtOf(
  { signature }: BackupEnd,
  here: {
    hasKey: boolean;
    unsigned: boolean;
    verify: (signature: NonNullable<BackupEnd['signature']>) => boolean | null;
  },
): string | null {
  if (!here.hasKey) return null;
  const isRight = isSignature(signature) ? here.verify(signature) : undefined;
  if (isRight === false) return 'its signature is wrong: the file was changed after it was made, use another backup';
  if (isRight === true || here.unsigned) return null;
  const accept = 'if no one else could write the file, repeat the command with --unsigned';
  return isRight === null
    ? `it is signed with the key ${signature?.key}, which ENCRYPTION_KEY does not have: add that key, or ${accept}`
    : `it has no signature: it was made without ENCRYPTION_KEY or by an earlier release, or was changed; ${accept}`;
}

function isSignature(given: unknown): given is NonNullable<BackupEnd['signature']> {
  const { key, hmac } = (given ?? {}) as { key?: unknown; hmac?: unknown };
  return typeof hmac === 'string' && typeof key === 'string' && /^[0-9a-f]{8}$/.test(key);
}

export function rowLine(table: string, json: string): string {
  return `["${table}",${json}]\n`;
}

const ROW = /^\["([a-z_]+)",(\{.*\})\]$/s;

/** @returns null if the line is no row */
export function readRow(line: string): { table: string; json: string } | null {
  const [, table, json] = ROW.exec(line) ?? [];
  return table === undefined || json === undefined ? null : { table, json };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Returns why a backup cannot be restored here; null if it can. A backup of an earlier release can: columns that it
 * lacks get their defaults, as the rows got them that the migrations found.
 */
export function refusalOf(
  { release, migrations }: BackupHeader,
  { keys, encrypts }: BackupEnd,
  here: { migrations: readonly string[]; knowsKey: (id: string) => boolean; hasKey: boolean },
): string | null {
  const later = migrations.filter((name) => !here.migrations.includes(name));
  if (later.length > 0) {
    return `the backup was made by a later release or an unreleased build of Jobferry (${release}, with ${later.join(', ')}): restore it with that one`;
  }
  const missing = keys.filter((id) => !here.knowsKey(id));
  if (missing.length > 0) {
    return `ENCRYPTION_KEY lacks a key with the id ${missing.join(' and ')}, which signing secrets or payloads of the backup need: add it`;
  }
  if (encrypts && !here.hasKey) return 'ENCRYPTION_KEY is missing: queues of the backup encrypt their payloads';
  return null;
}
