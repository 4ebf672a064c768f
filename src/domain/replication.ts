/** Facts that a server reports about its standbys. */
export interface ReplicationFacts {
  synchronous_commit: string;
  /** Empty if commits wait for no standby. */
  synchronous_standby_names: string;
  /** Connected standbys. */
  standbys: number;
  /** Synchronous ones among them; null if the role may not read that. */
  synchronous: number | null;
}

export interface ReplicationFault {
  /** True if a failover loses jobs that were accepted; false if it can. */
  isUnsafe: boolean;
  what: string;
  /** The remedy. */
  fix: string;
}

/** Values with which a commit does not wait until it is on the disk of a synchronous standby. */
const NOT_ON_STANDBY = ['local', 'remote_write'];

/**
 * Finds out whether a job that was accepted survives the loss of the primary. `off` is not among the results, because
 * it is wrong without standbys as well. A server that names synchronous standbys has standbys, even if none is
 * connected at the moment.
 */
export function replicationFaults(facts: ReplicationFacts): ReplicationFault[] {
  const { synchronous_commit: commit, synchronous_standby_names: names, standbys, synchronous } = facts;
  const faults: ReplicationFault[] = [];
  if (standbys === 0 && names === '') return faults;
  if (NOT_ON_STANDBY.includes(commit)) {
    faults.push({
      isUnsafe: true,
      what: `synchronous_commit is ${commit} on a server with standbys: a failover can lose accepted jobs`,
      fix: 'set synchronous_commit = on, for the server, the database and the role',
    });
  }
  if (names === '') {
    const who = standbys === 1 ? 'the only standby is not synchronous' : `none of ${standbys} standbys is synchronous`;
    faults.push({
      isUnsafe: false,
      what: `${who}: a failover can lose accepted jobs`,
      fix: 'set synchronous_standby_names; with Patroni, synchronous_mode: true',
    });
  } else if (synchronous === 0 || standbys === 0) {
    faults.push({
      isUnsafe: false,
      what: 'no standby that synchronous_standby_names names is connected: each commit waits for one, and publishes get a 503',
      fix: 'start a standby whose application_name is in synchronous_standby_names, or correct the names',
    });
  }
  return faults;
}

/** Whether a request may read from a replica: how far that is behind at most, or why not. */
export type Admission = { lagMs: number } | { problem: string };
