/** Which releases of Jobferry may run on one database (docs/decisions/0039). */

/** A release, and the oldest release whose processes may run on a database that it has migrated. */
export interface Release {
  /** Three numbers, such as `1.2.3`. */
  version: string;
  oldestBeside: string;
}

/** Facts that a process has about the database that it uses. */
export interface SchemaFacts {
  /** The release that migrated the database last; null if the database does not say. */
  release: Release | null;
  /** Names of migrations and SQL functions that the process does not know. */
  later: readonly string[];
}

/**
 * `own`: the process knows the whole schema. `beside`: a later release has migrated the database, and this one may run
 * on it. `too_old`: a later release has, and this one may not. `unknown`: the database does not say that this one may.
 */
export type Standing = 'own' | 'beside' | 'too_old' | 'unknown';

/** @returns whether `version` is an earlier release than `than`; a text that is no version is earlier than all */
export function isEarlier(version: string, than: string): boolean {
  const [one, other] = [numbersOf(version), numbersOf(than)];
  const at = one.findIndex((number, index) => number !== other[index]);
  return at >= 0 && (one[at] ?? 0) < (other[at] ?? 0);
}

function numbersOf(version: string): number[] {
  const [, ...numbers] = /^(\d+)\.(\d+)\.(\d+)\b/.exec(version) ?? ['', -1, -1, -1];
  return numbers.map(Number);
}

/** @param version of the process */
export function standingOf(version: string, { release, later }: SchemaFacts): Standing {
  if (release !== null && isEarlier(version, release.oldestBeside)) return 'too_old';
  if (later.length === 0) return 'own';
  return release !== null && isEarlier(version, release.version) ? 'beside' : 'unknown';
}

/** @returns whether the database must record that this release has migrated it */
export function isNews(own: Release, stored: Release | null): boolean {
  if (stored === null || isEarlier(stored.version, own.version)) return true;
  return stored.version === own.version && stored.oldestBeside !== own.oldestBeside;
}

/** Why a process of `version` does not start on a database, in words for its operator. */
export function startRefusal(version: string, { release, later }: SchemaFacts): string {
  const standing = standingOf(version, { release, later });
  const unknown = later.join(', ');
  if (release === null) {
    return `the database was migrated by a later version of Jobferry (${unknown}), and this is ${version}: run that version`;
  }
  if (standing === 'too_old') {
    return `${tooOld(version, release)}: run ${release.version}`;
  }
  if (standing === 'beside') {
    return (
      `the database was migrated by a later version of Jobferry, ${release.version} (${unknown}), and this is ${version}: ` +
      'only `serve` runs beside it, so run this command of that version'
    );
  }
  return (
    `the database was migrated by a later version of Jobferry (${unknown}), another build of ${release.version}, ` +
    `and this is ${version}: run that build`
  );
}

/** Why a command of `version` does not use a database whose schema is not that of `version`. */
export function commandRefusal(version: string, facts: SchemaFacts & { isEmpty: boolean }): string {
  if (facts.later.length > 0 || standingOf(version, facts) !== 'own') return startRefusal(version, facts);
  if (facts.isEmpty) return `${needsMigration(version, facts)}; a start of the service does, too`;
  return `${needsMigration(version, facts)}; or run this command of the release that uses the database`;
}

/** Says what is missing in a database before `version` can use it, and which command adds it. */
export function needsMigration(version: string, { release, isEmpty }: SchemaFacts & { isEmpty: boolean }): string {
  const command = '`jobferry migrate`';
  if (isEmpty) return `the database has no tables of Jobferry yet: ${command} creates them`;
  if (release !== null && release.version === version) {
    return `the database is of another build of ${version}: ${command} brings it to this one`;
  }
  const of = release === null ? 'an earlier build, which it does not name' : `the earlier release ${release.version}`;
  return `the database is of ${of}, and this is ${version}: ${command} brings it to ${version}`;
}

/** Says what `backup --final` has done to a database. */
export function movedAway(movedAt: Date): string {
  return (
    `this database was moved to another place at ${movedAt.toISOString()} (\`backup --final\`), and nothing may be published or ` +
    'delivered from here any more'
  );
}

export function tooOld(version: string, release: Release): string {
  return (
    `the database is of release ${release.version}, and the oldest release that may run beside it is ` +
    `${release.oldestBeside}: this is ${version}`
  );
}

/** Number of kept entries about a release that took over from another one; the oldest are removed. */
export const RELEASES_KEPT = 100;

/** A process that has sent a heartbeat lately. */
export interface RunningProcess {
  role: string;
  version: string;
}

/** A running process, with the facts that `doctor` shows. */
export interface SeenProcess extends RunningProcess {
  startedAt: Date;
  /** How far the clock of the database is ahead of that of the process; null if it does not know. */
  clockOffsetSeconds: number | null;
  /** Null for a process of a release that does not report them. */
  settings: ProcessSettings | null;
}

/** How a process runs, for comparisons with the others. */
export interface ProcessSettings {
  host: string;
  pid: number;
  /** Null if it was built outside of git. */
  commit: string | null;
  /** Ids of the keys of ENCRYPTION_KEY; the first is meant to encrypt. */
  keys: readonly string[];
  /** Values that other processes must have, too, or their hashes; without those that its role does not use. */
  shared: Readonly<Partial<Record<SharedSetting, string>>>;
}

/**
 * Variables that must be the same for all processes, with what happens if they are not: any API takes a request, any
 * worker delivers a job, and any of them removes it. Addresses, proxies, name servers and limits of load are those of
 * one process or machine.
 */
export const SHARED_SETTINGS = {
  PLANS: 'limits depend on the process',
  TEMPLATES: 'the settings of new queues depend on the process',
  MAX_BODY_BYTES: 'the largest payload depends on the process',
  JOB_RETENTION_SECONDS: 'the shortest one removes the jobs of all',
  JOB_LIFETIME_SECONDS: 'the lifetime of jobs depends on the process',
  WEBHOOK_TIMEOUT_SECONDS: 'the time that a receiver has depends on the process',
  WEBHOOK_ALLOW_CIDRS: 'the receivers that are allowed depend on the process',
  SIGNATURE_HEADER: 'the header with the signature depends on the process',
  REPORT_URL: 'the report URL of a delivery depends on the process',
};
export type SharedSetting = keyof typeof SHARED_SETTINGS;

/** @returns the oldest release whose processes may run on a database both before and after this program migrates it */
export function oldestBeside(own: Release, stored: Release | null): string {
  if (stored === null || isEarlier(stored.oldestBeside, own.oldestBeside)) return own.oldestBeside;
  return stored.oldestBeside;
}

export function olderThan<P extends RunningProcess>(processes: readonly P[], oldest: string): P[] {
  return processes.filter(({ version }) => isEarlier(version, oldest));
}

export const ROLES: Readonly<Record<string, string>> = { all: 'API and worker', api: 'API', worker: 'worker' };

/** @returns such as `release 0.1.0 (2 API, 1 worker)` */
export function processesInWords(processes: readonly RunningProcess[]): string {
  const versions = [...new Set(processes.map(({ version }) => version))].sort((a, b) => (isEarlier(a, b) ? -1 : 1));
  const parts = versions.map((version) => {
    const roles = processes.filter((one) => one.version === version).map(({ role }) => ROLES[role] ?? role);
    const counted = [...new Set(roles)].sort().map((role) => `${roles.filter((one) => one === role).length} ${role}`);
    return `release ${version} (${counted.join(', ')})`;
  });
  return parts.join(' and ');
}

/** Why a database is not migrated while processes run that may not run on it afterwards. */
export function migrationRefusal(older: readonly RunningProcess[], { version, oldestBeside }: Release): string {
  return (
    `refused: processes of ${processesInWords(older)} run, and ${version} may run beside ${oldestBeside} or later only. ` +
    `The database is as it was, and they go on. Upgrade them to ${oldestBeside} first, or stop them ` +
    '(a process that was killed counts for 30 s more)'
  );
}
