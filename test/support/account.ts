import pg from 'pg';
import { describeApiKey, generateApiKey } from '../../src/services/accounts/api-key.ts';

export interface TestAccount {
  id: string;
  key: string;
}

/** An account with a key, straight into the database: the commands that operators use take a second each. */
export async function createAccount(databaseUrl: string, plan = 'pro'): Promise<TestAccount> {
  const key = generateApiKey();
  const { hash, prefix, lastFour } = describeApiKey(key);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string }>(
      `with created as (insert into account (name, plan) values ('another', $1) returning id)
       insert into api_key (account_id, hash, prefix, last_four) select id, $2, $3, $4 from created
       returning account_id as id`,
      [plan, hash, prefix, lastFour],
    );
    return { id: rows[0]?.id ?? '', key };
  } finally {
    await client.end();
  }
}
