import { setTimeout as wait } from 'node:timers/promises';
import { type Fault, note, underWay } from './faults.ts';
import type { NameServer } from './name-server.ts';

/** F-37: queries for one host's name get no answer, or every second one gets none. */
export function dropNames(names: NameServer, hosts: readonly string[]): Fault {
  return async (rig) => {
    const host = rig.random.pick(hosts.filter((name) => !dropped.has(name)));
    dropped.add(host);
    const which = rig.random.pick(['all', 'every second'] as const);
    const record = note(rig, 'name-server', { underWay: underWay(rig), hosts: which === 'all' ? [host] : [] });
    names.drop(host, which);
    await wait(rig.random.between(2000, 5000));
    names.drop(host, 'none');
    record.healedAt = Date.now();
    dropped.delete(host);
  };
}

const dropped = new Set<string>();
