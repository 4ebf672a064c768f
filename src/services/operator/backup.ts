import type { Address } from '../../db/connection/address.ts';
import type { Database } from '../../db/connection/database.ts';
import { rollUp } from '../../db/insight/statistics.ts';
import { Snapshot } from '../../db/operator/backup/snapshot.ts';
import { type BackupEnd, type BackupHeader, headerOf } from '../../domain/backup.ts';
import { writeBackupFile } from './backup-file.ts';

interface BackupOptions {
  /** For connections that need a session. */
  url: Address;
  /** Null for all accounts. */
  accountId: string | null;
  /** Version of this release. */
  release: string;
  retentionMs: number;
  /** Called after each row. */
  progress: (rows: number) => void;
}

/**
 * Writes all rows of an account, or of all accounts, as they are at one moment. The service may run meanwhile.
 * @throws BackupError if the file exists
 */
export async function backUp(
  db: Database,
  path: string,
  { url, accountId, release, retentionMs, progress }: BackupOptions,
): Promise<{ header: BackupHeader; end: BackupEnd }> {
  // The attempts that the statistics do not have yet are summed up for each queue, so there should be few.
  while (await rollUp(db, retentionMs)) {
    // Step by step, so that no statement takes long.
  }
  return Snapshot.take({ db, url, retentionMs }, async (snapshot) => {
    const header = headerOf({
      release,
      account: accountId,
      madeAt: snapshot.madeAt.toISOString(),
      migrations: await snapshot.migrations(),
      columns: await snapshot.columns(),
    });
    const encryption = await snapshot.encryption(accountId);
    let rows = 0;
    const sign = (text: string) => db.cipher.sign(text);
    const end = await writeBackupFile(path, { header, rows: snapshot.rows(accountId), ...encryption, sign }, () => {
      rows += 1;
      progress(rows);
    });
    return { header, end };
  });
}
