import type { Database, Statement } from '../connection/database.ts';

const SCOPE = 'link:';

/** @returns the text to store: encrypted with the key of the database, if there is one; null without a link */
export function storedLink(db: Database, link: object | null): string | null {
  return link === null ? null : db.cipher.encrypt(SCOPE, JSON.stringify(link));
}

const LINKS: Statement = {
  name: 'links-of-workers',
  text: `select link from instance where link is not null and last_seen_at > jobferry_now() - interval '15 s' order by id`,
};

/** @returns how the workers of the running processes are reached; without those whose key cannot be decrypted */
export async function linksOfWorkers<Address>(db: Database): Promise<Address[]> {
  const rows = await db.query<{ link: string }>(LINKS);
  return rows.flatMap(({ link }) => {
    try {
      return [JSON.parse(db.cipher.decrypt(SCOPE, link)) as Address];
    } catch {
      return [];
    }
  });
}
