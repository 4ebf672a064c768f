import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { describeApiKey, generateApiKey } from '../../../dist/src/services/accounts/api-key.js';
import { peakRssOf, rssOf } from '../measure/processes.mjs';
import { startChild } from '../stage/child.mjs';
import { query } from '../stage/postgres.mjs';
import { Attacker } from './attacker-process.mjs';
import { startNameServer } from './name-server.mjs';
import { QuietAccount } from './quiet-account.mjs';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const QUIET_KEY = 'key-of-the-quiet-account';
const WARM_UP_MS = 3000;
/** How long an attack runs before the measurement begins. */
const ATTACK_LEAD_MS = 5000;

/** Measures one row: the quiet account alone, then beside the attacker, in one life of the service. */
export async function measure(postgres, row, seconds) {
  const databaseUrl = await postgres.createDatabase('neighbours');
  const names = await startNameServer();
  const service = await startChild(process.execPath, [MAIN, 'serve'], {
    ready: /listening on (http:\S+)/,
    env: {
      DATABASE_URL: databaseUrl,
      HOST: '127.0.0.1',
      PORT: '0',
      BOOTSTRAP_API_KEY: QUIET_KEY,
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
      WEBHOOK_DNS_SERVERS: names.address,
      LOG_LEVEL: 'error',
      ...row.env,
    },
  });
  const url = service.match[1];
  const quiet = await QuietAccount.open(url, QUIET_KEY, row.quiet);
  let attacker = null;
  try {
    const accounts = await createAccounts(databaseUrl, row.accounts ?? [{ plan: 'pro' }]);
    attacker = await Attacker.start(row.attack, { url, accounts });
    await attacker.prepare();
    await row.seed?.({ databaseUrl, accounts, query: (text, values) => query(databaseUrl, text, values) });
    await quiet.load(WARM_UP_MS);
    const alone = await quiet.load(seconds * 1000);
    const rssBefore = rssOf(service.pid);
    attacker.attack();
    await pause(ATTACK_LEAD_MS);
    const beside = await quiet.load(seconds * 1000);
    return {
      alone,
      beside,
      attacker: await attacker.stop(),
      memory: { before: rssBefore, after: rssOf(service.pid), peak: peakRssOf(service.pid) },
    };
  } finally {
    await attacker?.stop();
    await quiet.close();
    await service.stop();
    await names.close();
    await postgres.dropDatabase('neighbours');
  }
}

async function createAccounts(databaseUrl, wanted) {
  const accounts = [];
  for (const { plan } of wanted) {
    const key = generateApiKey();
    const { hash, prefix, lastFour } = describeApiKey(key);
    const [{ id }] = await query(
      databaseUrl,
      `with made as (insert into account (name, plan) values ('attacker', $1) returning id),
            keyed as (insert into api_key (account_id, hash, prefix, last_four) select id, $2, $3, $4 from made)
       select id from made`,
      [plan, hash, prefix, lastFour],
    );
    accounts.push({ id, key });
  }
  return accounts;
}
