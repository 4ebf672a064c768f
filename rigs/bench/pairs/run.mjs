// The build of the working tree in pairs with the best one so far; see ../README.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { untilQuiet } from '../measure/quiet.mjs';
import { apiInProcess } from './api.mjs';
import { NoBuild, otherBuild, presentBuild } from './builds.mjs';
import { compare, togetherOf, undisturbed, verdictOf } from './judge.mjs';
import { entryOf, linesOf, sentenceOf } from './report.mjs';
import { wholePairs } from './whole.mjs';

const USAGE = `npm run pairs -- [options]

  --against BUILD  a commit, or a folder with a build; the best one so far by default (rigs/bench/pairs/best.json)
  --pairs N        slices of each build, 12 by default
  --seconds S      how long jobs are published in a slice, 3 by default
  --loads L,L      jobs per second of each set of pairs, or full (as many as there can be); full,200 by default
  --only PART      whole or api; both by default
  --json FILE      writes all figures
  --anyway         measures on a busy machine, too, and judges nothing
  --record         makes this build the best one so far, if it is better`;

const BEST = join(import.meta.dirname, 'best.json');
/** How long a quiet moment is waited for. */
const PATIENCE_SECONDS = 20;
/** Exit codes beside 0. */
const [FAILED, NO_BUILD, WORSE] = [1, 3, 4];

const { values: options } = parseArgs({
  options: {
    against: { type: 'string' },
    pairs: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '3' },
    loads: { type: 'string', default: 'full,200' },
    only: { type: 'string' },
    json: { type: 'string' },
    anyway: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [pairs, seconds] = [Number(options.pairs), Number(options.seconds)];
/** null: full load. */
const rates = options.loads.split(',').map((load) => (load === 'full' ? null : Number(load)));
const areRates = rates.every((rate) => rate === null || rate > 0);
const isValid = pairs > 0 && seconds > 0 && areRates && [undefined, 'whole', 'api'].includes(options.only);
if (options.help || !isValid) {
  console.log(USAGE);
  process.exit(isValid ? 0 : FAILED);
}
async function run() {
  if (process.platform !== 'linux') return console.log('NOT JUDGED: CPU times are read from /proc, which only Linux has.');
  const ours = presentBuild();
  if (options.record && ours.commit.endsWith('-changed')) throw new Error('commit and build first: this build is that of no commit');
  const best = JSON.parse(readFileSync(BEST, 'utf8'));
  const builds = { new: ours, old: await otherBuild(options.against ?? best.commit) };
  const wasQuiet = await untilQuiet(PATIENCE_SECONDS);
  if (!wasQuiet && !options.anyway) return console.log(`\n${sentenceOf('busy')}`);

  const report = { at: new Date(), builds: { new: builds.new.name, old: builds.old.name }, wasQuiet };
  if (options.only !== 'whole') report.api = await apiInProcess(builds);
  if (options.only !== 'api') {
    report.loads = (await wholePairs(builds, { pairs, seconds, rates })).map((load) => judged(load, wasQuiet));
    report.verdict = togetherOf(report.loads.map(({ verdict }) => verdict));
  }
  console.log(`\n${linesOf(report).join('\n')}`);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  if (report.verdict === 'worse') process.exitCode = WORSE;
  if (report.verdict === 'better' && options.against === undefined) keep(entryOf(report, ours.commit));
}

/** Pairs that other programs have disturbed do not count, but are shown. */
function judged({ rate, pairs: done, all }, wasQuiet) {
  const quiet = undisturbed(done);
  const shown = quiet.length > 0 ? quiet : done;
  const whole = Object.fromEntries(
    ['total', 'api', 'worker', 'postgres', 'jobsPerSecond'].map((name) => [name, compare(shown, (slice) => slice[name])]),
  );
  const times = { publishP50: ['publish', 'p50'], publishP99: ['publish', 'p99'], arrivalP50: ['arrival', 'p50'], arrivalP99: ['arrival', 'p99'] };
  for (const [name, [time, share]] of Object.entries(times)) whole[name] = compare(shown, (slice) => slice[time][share]);
  return { rate, pairs: done, all, quietPairs: quiet.length, whole, verdict: verdictOf(wasQuiet, quiet.length, whole.total) };
}

function keep(entry) {
  if (options.record) writeFileSync(BEST, entry);
  else console.log(`For rigs/bench/pairs/best.json (--record writes it):\n${entry}`);
}

try {
  await run();
} catch (error) {
  console.error(error instanceof NoBuild ? `NOT COMPARED: ${error.message}` : error);
  process.exitCode = error instanceof NoBuild ? NO_BUILD : FAILED;
}
// Connections may be open that nothing waits for.
process.exit();
