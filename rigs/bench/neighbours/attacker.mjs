import { serve } from '../load/assistant.mjs';
import { ATTACKS } from './attacks.mjs';
import { Client } from './client.mjs';

let attack = null;
let context = null;

serve({
  async prepare({ attack: name, url, accounts }) {
    attack = ATTACKS[name];
    const counts = {};
    context = { url, counts, stopped: false, clients: accounts.map((account) => new Client(url, account, counts)) };
    await attack.prepare?.(context);
  },
  async attack() {
    await attack.run(context);
  },
  stop() {
    context.stopped = true;
    return context.counts;
  },
});
