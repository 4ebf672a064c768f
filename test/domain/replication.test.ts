import { describe, expect, it } from 'vitest';
import { type ReplicationFacts, replicationFaults } from '../../src/domain/replication.ts';

const alone: ReplicationFacts = {
  synchronous_commit: 'on',
  synchronous_standby_names: '',
  standbys: 0,
  synchronous: 0,
};
const protectedFacts = { ...alone, synchronous_standby_names: '*', standbys: 2, synchronous: 1 };
/** As a role without rights sees it. */
const unseen = { ...protectedFacts, synchronous: null };

describe('nothing can be lost at a failover', () => {
  it.each<[string, ReplicationFacts]>([
    ['of a server alone', alone],
    ['of a server alone, where local is as good as on', { ...alone, synchronous_commit: 'local' }],
    ['with a synchronous standby', protectedFacts],
    ['with remote_apply', { ...protectedFacts, synchronous_commit: 'remote_apply' }],
    ['with names, if the role cannot see more', unseen],
  ])('nothing can be lost at a failover %s', (_what, facts) => {
    expect(replicationFaults(facts)).toEqual([]);
  });
});

describe('accepted jobs can be lost at a failover', () => {
  it.each<[string, ReplicationFacts, isUnsafe: boolean, RegExp]>([
    ['one asynchronous standby', { ...alone, standbys: 1 }, false, /^the only standby is not synchronous/],
    ['several', { ...alone, standbys: 2, synchronous: null }, false, /^none of 2 standbys is synchronous/],
    ['local', { ...protectedFacts, synchronous_commit: 'local' }, true, /^synchronous_commit is local/],
    ['remote_write', { ...unseen, synchronous_commit: 'remote_write' }, true, /^synchronous_commit is remote_write/],
  ])('%s', (_what, facts, isUnsafe, what) => {
    expect(replicationFaults(facts)).toEqual([
      { isUnsafe, what: expect.stringMatching(what), fix: expect.stringMatching(/^set synchronous_/) },
    ]);
  });

  it('accepted jobs can be lost at a failover, though the standby is away at the moment', () => {
    const facts = { ...alone, synchronous_standby_names: 'a', synchronous_commit: 'local' };
    expect(replicationFaults(facts)[0]).toMatchObject({ isUnsafe: true });
  });
});

it('commits wait for a standby that is not there', () => {
  const named = { ...alone, synchronous_standby_names: 'a' };
  for (const facts of [named, { ...named, standbys: 1 }, { ...named, synchronous: null }]) {
    expect(replicationFaults(facts)).toEqual([
      { isUnsafe: false, what: expect.stringContaining('publishes get a 503'), fix: expect.stringContaining('names') },
    ]);
  }
});
