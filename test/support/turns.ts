import type { Database } from '../../src/db/connection/database.ts';

/** Takes all turns for reading that an account has at once, until the function that it returns is called. */
export function occupyTurns(db: Database, account: { id: string }): () => void {
  let letGo = () => {};
  const until = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  for (let n = 0; n < 2; n += 1) void db.readingTurns.run(account.id, () => until);
  return letGo;
}
