import { deliveries } from './attacks-on-deliveries.mjs';
import { publishing } from './attacks-on-publishing.mjs';
import { reading } from './attacks-on-reading.mjs';

/**
 * By the name that the table uses. `prepare` makes what the attack needs; `run` goes on until the context is stopped.
 */
export const ATTACKS = { ...deliveries, ...publishing, ...reading, none: { prepare: oneQueue, run: async () => undefined } };

async function oneQueue({ clients: [client] }) {
  await client.createQueue('attacker', 'http://127.0.0.1:9/');
}
