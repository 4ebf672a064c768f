import { type Finding, problem, warning } from './doctor.ts';
import { ROLES, type SeenProcess, SHARED_SETTINGS, type SharedSetting } from './release.ts';

/** Findings of `doctor` about settings in which the running processes differ. */

/** @param needed ids of the keys that stored texts need */
export function judgeSettingsApart(processes: readonly SeenProcess[], needed: readonly string[]): Finding[] {
  return [...judgeKeys(processes, needed), ...judgeShared(processes), ...judgeCommits(processes)];
}

/** "a process (worker, started at 2026-11-28T15:00:00.000Z on db1, pid 123)" */
export function processInWords({ role, startedAt, settings }: SeenProcess): string {
  const where = settings === null ? '' : ` on ${settings.host}, pid ${settings.pid}`;
  return `a process (${ROLES[role] ?? role}, started at ${startedAt.toISOString()}${where})`;
}

const CHECK = 'fleet';

function judgeKeys(processes: readonly SeenProcess[], needed: readonly string[]): Finding[] {
  const firsts = new Set(processes.flatMap(({ settings }) => settings?.keys[0] ?? []));
  return processes.flatMap((process) => {
    if (process.settings === null) return [];
    const { keys } = process.settings;
    const lacks = (keyId: string) => !keys.includes(keyId);
    const fix = 'add the key to its ENCRYPTION_KEY, and restart it';
    return [
      ...needed.filter(lacks).map((keyId) => {
        const effect = process.role === 'api' ? 'reads' : 'delivers';
        return problem(
          CHECK,
          `${processInWords(process)} lacks the key ${keyId} and ${effect} nothing that needs it`,
          fix,
        );
      }),
      ...[...firsts]
        .filter((keyId) => lacks(keyId) && !needed.includes(keyId))
        .map((keyId) =>
          warning(CHECK, `${processInWords(process)} lacks the key ${keyId}, so nothing is encrypted with it yet`, fix),
        ),
    ];
  });
}

function judgeShared(processes: readonly SeenProcess[]): Finding[] {
  return (Object.keys(SHARED_SETTINGS) as SharedSetting[]).flatMap((name) => {
    const values = processes.flatMap((process) => {
      const value = process.settings?.shared?.[name];
      return value === undefined ? [] : [{ process, value }];
    });
    if (new Set(values.map(({ value }) => value)).size < 2) return [];
    const whose = values.map(({ process, value }) => `${processInWords(process)}: ${value}`).join('; ');
    const what = `${name} is not the same for all processes, so ${SHARED_SETTINGS[name]}: ${whose}`;
    return [warning(CHECK, what, `set the same ${name} for all of them, and restart them`)];
  });
}

/** Two builds of one version: the earlier one cannot be started again once the later one has migrated the database. */
function judgeCommits(processes: readonly SeenProcess[]): Finding[] {
  const versions = new Set(processes.map(({ version }) => version));
  return [...versions].flatMap((version) => {
    const commits = processes.flatMap((one) => (one.version === version ? (one.settings?.commit ?? []) : []));
    const different = [...new Set(commits)].map((commit) => commit.slice(0, 12)).sort();
    if (different.length < 2) return [];
    const what = `processes of different builds of version ${version} are running: ${different.join(', ')}`;
    return [
      warning(
        CHECK,
        what,
        'run the same build everywhere: once the later build has migrated the database, the earlier one cannot be started again',
      ),
    ];
  });
}
