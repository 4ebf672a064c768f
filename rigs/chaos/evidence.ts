import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { POSTGRES_MAJOR } from '../../src/db/embedded/binaries.ts';
import type { Summary } from './summary.ts';

export interface Evidence {
  /** The test file's part of the report. */
  part: 'matrix' | 'silence';
  seed: number;
  perSecond: number;
  phases: Summary[];
  /** The phases that ran when the run was interrupted; the checker has not seen them. */
  unfinished: Unfinished[];
}

/** A part as it is stored. */
interface StoredPart extends Evidence {
  /** The commits of the commands that have written it. */
  commits: string[];
}

export interface Unfinished {
  name: string;
  seconds: number;
  published: number;
  deliveries: number;
  faults: Record<string, number>;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Within the repository, unless it is an absolute path; a trial run writes elsewhere. */
const FOLDER = process.env.CHAOS_EVIDENCE ?? 'docs/evidence';
const EMBEDDED = `${POSTGRES_MAJOR} (embedded, fsync and synchronous_commit on)`;

/** Parts of the report, which other test files of the run have written. `vitest.runs.config.ts` names the run. */
const PARTS = join(tmpdir(), `jobferry-chaos-run-${process.env.CHAOS_RUN ?? process.pid}`);

/**
 * Writes the report of all parts of the run so far: figures only, no path and no machine. Phases that an earlier
 * command of the run has written stay, so a single one can be run again (`CHAOS_RUN`, `-t`).
 */
export async function writeEvidence(part: Evidence): Promise<void> {
  await mkdir(PARTS, { recursive: true });
  const file = join(PARTS, `${part.part}.json`);
  const versions = await versionsWith(EMBEDDED);
  const earlier = existsSync(file) ? await readPart(file) : null;
  const isEarlier = ({ name }: { name: string }) =>
    ![...part.phases, ...part.unfinished].some((one) => one.name === name);
  const stored: StoredPart = {
    ...part,
    phases: [...(earlier?.phases ?? []).filter(isEarlier), ...part.phases],
    unfinished: [...(earlier?.unfinished ?? []).filter(isEarlier), ...part.unfinished],
    commits: [...new Set([...(earlier?.commits ?? []), versions.commit])],
  };
  // Phases that run side by side read and write it, so it is replaced as a whole.
  const next = `${file}.${randomUUID()}`;
  await writeFile(next, JSON.stringify(stored));
  await rename(next, file);
  const names = (await readdir(PARTS)).filter((name) => name.endsWith('.json')).sort();
  const parts = await Promise.all(names.map((name) => readPart(join(PARTS, name))));
  const commit = [...new Set(parts.flatMap(({ commits }) => commits))].join(', ');
  await writeReport('chaos', describe({ ...versions, commit }, parts));
}

async function readPart(file: string): Promise<StoredPart> {
  return JSON.parse(await readFile(file, 'utf8')) as StoredPart;
}

/** @param name of the file, without an ending */
export async function writeReport(name: string, text: string): Promise<void> {
  const folder = resolve(ROOT, FOLDER);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name}.md`), text);
}

export async function versionsWith(postgresql: string) {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const git = (...args: string[]) =>
    promisify(execFile)('git', args, { cwd: ROOT }).then(
      ({ stdout }) => stdout.trim(),
      () => null,
    );
  const [commit, changes] = await Promise.all([
    git('rev-parse', '--short', 'HEAD'),
    git('status', '--porcelain', '--', '.', ':!docs/evidence'),
  ]);
  return {
    jobferry: version,
    commit: commit ?? 'unknown',
    uncommittedChanges: (changes ?? '') !== '',
    node: process.version,
    postgresql,
    machine: `${process.platform} ${process.arch}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  };
}

export function totalsOf(phases: Summary[]) {
  const sum = (value: (phase: Summary) => number) => phases.reduce((total, phase) => total + value(phase), 0);
  return {
    seconds: sum(({ seconds }) => seconds),
    published: sum(({ published }) => published),
    indeterminate: sum(({ indeterminate }) => indeterminate),
    delivered: sum(({ delivered }) => delivered),
    deliveries: sum(({ deliveries }) => deliveries),
    duplicates: sum(({ duplicates }) => duplicates),
    faults: sum((phase) => Object.values(phase.faults).reduce((all, { count }) => all + count, 0)),
    faultsThatHitWork: sum((phase) => Object.values(phase.faults).reduce((all, { hitWork }) => all + hitWork, 0)),
    violations: sum((phase) => Object.values(phase.violations).reduce((all, n) => all + n, 0)),
    lost: sum(({ lost }) => lost),
    slowestExitMs: Math.max(0, ...phases.map(({ slowestExitMs }) => slowestExitMs ?? Number.POSITIVE_INFINITY)),
  };
}

type Versions = Awaited<ReturnType<typeof versionsWith>>;

/** The rows of a table that say what ran, and where. */
export function originRows(about: Versions & { seed: number | string }): string {
  return `| Seed | ${about.seed} |
| Jobferry | ${about.jobferry}, commit ${about.commit}${about.uncommittedChanges ? ' with uncommitted changes' : ''} |
| Node.js | ${about.node} |
| PostgreSQL | ${about.postgresql} |
| Machine | ${about.machine} |`;
}

function describe(versions: Versions, parts: Evidence[]): string {
  const phases = parts.flatMap((part) => part.phases);
  const totals = totalsOf(phases);
  const seed = parts.map((part) => `${part.seed} (${part.part})`).join(', ');
  return `# Chaos run, ${new Date().toISOString().slice(0, 10)}

Written by \`npm run rig chaos\`. What the run does and how it is checked: [delivery promise](../delivery-promise.md), \`rigs/chaos/\`.

| | |
|---|---|
${originRows({ ...versions, seed })}
| Duration of all phases, some of which run side by side | ${Math.round(totals.seconds / 60)} min |
| Webhook timeout, lease | 3 s, 8 s; up to 15 s, 20 s where names are not answered |
| Load | up to ${Math.max(...parts.map(({ perSecond }) => perSecond))} jobs or key races per second |

**Lost: ${totals.lost}. Violations: ${totals.violations}.** ${totals.published} jobs were accepted and ${totals.delivered}
delivered (replays and publishes without an answer included), in ${totals.deliveries} deliveries, of which
${totals.duplicates} were repeated. ${totals.faults} faults, ${totals.faultsThatHitWork} of them while work was under way. The
slowest end of a process after SIGTERM took ${totals.slowestExitMs} ms.

${phases.map(describePhase).join('\n')}${parts.flatMap((part) => part.unfinished.map(describeUnfinished)).join('')}`;
}

export function describePhase(phase: Summary): string {
  const violations = Object.entries(phase.violations).map(([id, n]) => `${id}: ${n}`);
  const faults = Object.entries(phase.faults).map(([kind, { count, hitWork }]) => {
    const recovery = phase.recoveryMs[kind];
    const resumed = phase.resumedMs[kind];
    const { jobs, median, worst } = recovery ?? { jobs: '', ...(resumed ?? { median: '', worst: '' }) };
    return `| ${kind} | ${count} | ${hitWork} | ${jobs} | ${median} | ${worst} |`;
  });
  return `## ${phase.name[0]?.toUpperCase()}${phase.name.slice(1)}

${phase.seconds} s; published ${phase.published}, with an unknown outcome (5xx or no answer) ${phase.indeterminate}, refused ${phase.refused};
jobs delivered ${phase.delivered} in ${phase.deliveries} deliveries; repeated ${phase.duplicates} (the receiver reset
${phase.resets} connections on purpose); replayed ${phase.replayed}; reports ${phase.reports}; lost ${phase.lost};
violations ${violations.length === 0 ? 'none' : violations.join(', ')}.${phase.failure === null ? '' : ` **Ended early: ${phase.failure}**`}
${describeKills(phase.kills)}${phase.examples.map((example) => `\n- ${example}`).join('')}

| Fault | Times | Hit work under way | Jobs measured | Median ms until work went on | Worst ms |
|---|---|---|---|---|---|
${faults.join('\n')}
`;
}

function describeKills(kills: number[]): string {
  if (kills.length === 0) return '';
  const sorted = [...kills].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return `
${kills.length} kills of workers had jobs to deliver again; from the kill until the last of them was: median ${at(0.5)} ms,
95th percentile ${at(0.95)} ms, worst ${at(1)} ms.
`;
}

function describeUnfinished({ name, seconds, published, deliveries, faults }: Unfinished): string {
  const struck = Object.entries(faults).map(([kind, n]) => `${kind} ${n}`);
  return `
## Interrupted: ${name}

Stopped after ${seconds} s with ${published} publishes and ${deliveries} deliveries, which were not checked. Faults until
then: ${struck.join(', ') || 'none'}.
`;
}
