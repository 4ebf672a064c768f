import { type Finding, ok, orOk, problem, WRONG_CLOCK_SECONDS, warning } from './doctor.ts';
import { processInWords } from './doctor-fleet.ts';
import {
  movedAway,
  olderThan,
  oldestBeside,
  processesInWords,
  type Release,
  type RunningProcess,
  type SeenProcess,
} from './release.ts';

type SchemaState = 'current' | 'behind' | 'newer';

/** Findings of `doctor` about the releases of the database and of the processes that use it. */

/** @param fix what to do about a database that `backup --final` has moved */
export function judgeMoved(movedAt: Date, fix: string): Finding[] {
  return [problem('schema', movedAway(movedAt), fix)];
}

/** The finding about a schema that no release can use. */
export function judgeUnusable(reason: string): Finding[] {
  return [problem('schema', reason, 'use an empty database; checks of its tables were left out')];
}

/**
 * @param own of this command
 * @param build its version and commit, for people
 */
export function judgeSchema(
  { state, release, isEmpty = false }: { state: SchemaState; release: Release | null; isEmpty?: boolean },
  own: Release,
  build = own.version,
): Finding[] {
  const check = 'schema';
  if (isEmpty)
    return [
      problem(check, 'the database has no tables of Jobferry yet', 'run: jobferry migrate, or start jobferry serve'),
    ];
  const mark = release === null ? '' : `; the oldest release that may run beside it is ${release.oldestBeside}`;
  if (state === 'behind')
    return [problem(check, 'migrations or SQL functions of this version are missing', 'run: jobferry migrate')];
  if (state === 'newer') {
    return [
      problem(
        check,
        `the database was migrated by a later version of Jobferry${release === null ? '' : `, ${release.version}`}${mark}`,
        'run doctor, and all processes, of that version',
      ),
    ];
  }
  return [ok(check, `migrations and SQL functions are those of this version, ${build}${mark}`)];
}

/** @param processes those that were seen in the last half minute */
export function hasWorker(processes: readonly RunningProcess[]): boolean {
  return processes.some(({ role }) => role !== 'api');
}

/**
 * @param processes those that were seen in the last half minute
 * @param own of this command
 * @param stored of the database
 */
export function judgeFleet(processes: readonly SeenProcess[], own: Release, stored: Release | null): Finding[] {
  const check = 'fleet';
  const { version } = own;
  const versions = [...new Set(processes.map((one) => one.version))].sort();
  const found: Finding[] = [];
  if (!hasWorker(processes))
    found.push(problem(check, 'no worker is running: nothing is delivered', 'start: jobferry serve --role worker'));
  if (!processes.some(({ role }) => role !== 'worker'))
    found.push(problem(check, 'no API is running', 'start: jobferry serve --role api'));
  const oldest = oldestBeside(own, stored);
  const older = olderThan(processes, oldest);
  if (older.length > 0) {
    const what = `processes of ${processesInWords(older)} are running, which may not run beside this version`;
    found.push(problem(check, what, `upgrade them to ${oldest} or later, or stop them; no migration begins before`));
  } else if (versions.length > 1)
    found.push(warning(check, `processes of the versions ${versions.join(', ')} are running`, 'finish the upgrade'));
  if (older.length === 0 && versions.length === 1 && versions[0] !== version) {
    found.push(
      warning(
        check,
        `the processes have version ${versions[0]}, and this command ${version}`,
        'run the command of their version',
      ),
    );
  }
  for (const process of processes) {
    const { clockOffsetSeconds } = process;
    if (clockOffsetSeconds === null || Math.abs(clockOffsetSeconds) <= WRONG_CLOCK_SECONDS) continue;
    const off = `${Math.abs(clockOffsetSeconds).toFixed(1)} s ${clockOffsetSeconds > 0 ? 'behind' : 'ahead of'}`;
    const what = `the clock of ${processInWords(process)} is ${off} that of the database`;
    found.push(warning(check, what, 'synchronise the clock of its machine by NTP; its log has wrong times'));
  }
  return orOk(
    found,
    check,
    `${processes.length} ${processes.length === 1 ? 'process' : 'processes'} of version ${version}`,
  );
}
