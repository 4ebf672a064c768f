import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { pipeline as toEnd } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import {
  type BackupEnd,
  BackupError,
  type BackupHeader,
  readEnd,
  readHeader,
  readRow,
  rowLine,
  signedText,
} from '../../domain/backup.ts';

/** Rows have few repetitions beyond those that the lowest levels find, and a backup should not wait for a processor. */
const LEVEL = 3;
/** Text that is collected before it is compressed. */
const CHUNK = 256 * 1024;
/** Kinds of rows in a file that are counted. A backup has fewer. */
const MAX_TABLES = 100;
const MIB = 1024 * 1024;
const NEWLINE = 0x0a;

/** The content of a file between its header and its end. */
interface BackupContent {
  header: BackupHeader;
  rows: AsyncIterable<{ table: string; json: string; key?: string | null }>;
  /** Ids of keys beside those of the rows. */
  keys: readonly string[];
  encrypts: boolean;
  /** @returns null if there is no key to sign with */
  sign: (text: string) => NonNullable<BackupEnd['signature']> | null;
}

/**
 * Writes a backup. Until it is complete and on disk, the file has another name, so an interrupted backup cannot be
 * taken for a whole one.
 * @param onRow called for each row, before it is written
 * @throws BackupError if there is such a file
 */
export async function writeBackupFile(path: string, content: BackupContent, onRow: () => void): Promise<BackupEnd> {
  const unfinished = `${path}.part`;
  if (await exists(path)) throw new BackupError(`${path} exists already: choose another name`);
  if (await exists(unfinished)) {
    throw new BackupError(
      `${unfinished} exists already: another backup is writing it, or one was interrupted; if none is running, delete it`,
    );
  }
  const file = createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true });
  await once(file, 'open');
  try {
    const lines = new Lines(content, onRow);
    await toEnd(Readable.from(lines.chunks()), createGzip({ level: LEVEL }), file);
    await rename(unfinished, path);
    await syncFolder(dirname(path));
    return lines.end;
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

class Lines {
  readonly #content: BackupContent;
  readonly #onRow: () => void;
  readonly end: BackupEnd;

  constructor(content: BackupContent, onRow: () => void) {
    this.#content = content;
    this.#onRow = onRow;
    this.end = { rows: {}, keys: [], encrypts: content.encrypts, sha256: '' };
  }

  async *chunks(): AsyncGenerator<Buffer> {
    const { header, rows, keys: given } = this.#content;
    const hash = createHash('sha256');
    const counts: Record<string, number> = {};
    const keys = new Set(given);
    let text = `${JSON.stringify(header)}\n`;
    const flushed = () => {
      const chunk = Buffer.from(text);
      hash.update(chunk);
      text = '';
      return chunk;
    };
    for await (const { table, json, key } of rows) {
      this.#onRow();
      counts[table] = (counts[table] ?? 0) + 1;
      if (key != null) keys.add(key);
      text += rowLine(table, json);
      if (text.length > CHUNK) yield flushed();
    }
    yield flushed();
    Object.assign(this.end, { rows: counts, keys: [...keys].sort(), sha256: hash.digest('hex') });
    const signature = this.#content.sign(signedText(this.end));
    if (signature !== null) this.end.signature = signature;
    yield Buffer.from(`${JSON.stringify({ end: this.end })}\n`);
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Otherwise the new name could be gone after a power cut. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

interface BackupReader {
  /** Called with each row, in order; the next one follows when it has resolved. */
  row(table: string, json: string): Promise<void> | void;
  /** Largest payload of a job in bytes. A line of the file has little more than twice as many. */
  maxBodyBytes: number;
}

/**
 * Reads a backup from its begin to its end, and verifies that nothing is missing and nothing was changed.
 * @returns header and end
 * @throws BackupError if the file is damaged, incomplete or no backup; by then rows of it may have been read
 */
export async function readBackupFile(
  path: string,
  { row, maxBodyBytes }: BackupReader,
): Promise<{ header: BackupHeader; end: BackupEnd }> {
  await assertBackupFile(path);
  const hash = createHash('sha256');
  const counts = new Map<string, number>();
  let header: BackupHeader | null = null;
  let end: BackupEnd | null = null;
  for await (const bytes of linesOf(path, longestLine(maxBodyBytes))) {
    const line = bytes.toString('utf8');
    if (end !== null) throw damaged(path, 'it goes on after its end');
    if (header === null) header = readHeader(line);
    else {
      end = readEnd(line);
      if (end !== null) continue;
      const found = readRow(line);
      if (found === null) throw damaged(path, 'a line has another form');
      counts.set(found.table, (counts.get(found.table) ?? 0) + 1);
      if (counts.size > MAX_TABLES) throw damaged(path, 'it has too many kinds of rows');
      await row(found.table, found.json);
    }
    hash.update(bytes).update('\n');
  }
  if (header === null || end === null) throw damaged(path, 'its end is missing');
  const isWhole =
    hash.digest('hex') === end.sha256 && JSON.stringify(Object.fromEntries(counts)) === JSON.stringify(end.rows);
  if (!isWhole) throw damaged(path, 'its checksum is wrong');
  return { header, end };
}

/** A backup is read twice, and opening a pipe would wait for a program that writes into it. */
export async function assertBackupFile(path: string): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : error.message;
    throw new BackupError(`${path} cannot be read: ${reason}`);
  });
  if (!found.isFile()) throw new BackupError(`${path} is not a file`);
}

function damaged(path: string, why: string): BackupError {
  return new BackupError(`${path} is damaged or incomplete (${why}): use another backup`);
}

/** JSON takes two characters for a quotation mark, a backslash or a newline of a payload. */
function longestLine(maxBodyBytes: number): number {
  return Math.max(16 * MIB, 2 * maxBodyBytes + 2 * MIB);
}

/** @param longest bound of a line in bytes: a small file could otherwise unpack to a line that needs all memory */
async function* linesOf(path: string, longest: number): AsyncGenerator<Buffer> {
  const unpacked = pipeline(createReadStream(path), createGunzip(), () => undefined);
  let begun: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      let from = 0;
      for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
        const rest = chunk.subarray(from, to);
        yield begun.length === 0 ? rest : Buffer.concat([...begun, rest]);
        begun = [];
        length = 0;
        from = to + 1;
      }
      begun.push(chunk.subarray(from));
      length += chunk.length - from;
      if (length > longest) throw tooLong(path, longest);
    }
  } catch (error) {
    throw translated(path, error);
  }
  if (length > 0) throw damaged(path, 'its last line is not complete');
}

function tooLong(path: string, longest: number): BackupError {
  return new BackupError(
    `${path} has a line of more than ${Math.floor(longest / MIB)} MiB, so it is damaged or no backup; ` +
      'if MAX_BODY_BYTES is larger where the backup was made, set it so here',
  );
}

function translated(path: string, error: unknown): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (code === 'Z_DATA_ERROR' && message.includes('header'))
    return new BackupError(`${path} is not a backup of Jobferry`);
  return code.startsWith('Z_') ? damaged(path, message) : error;
}
