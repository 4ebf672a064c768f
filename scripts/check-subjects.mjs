// Checks the subjects of commits by the rule of CONTRIBUTING.md: at most 72 characters, and a first word that says what
// the commit does, so that the history of a folder can be searched. CI runs it over all commits since the rule exists.
//
//   node scripts/check-subjects.mjs              those since the commit that added this file
//   node scripts/check-subjects.mjs main..HEAD   those of a branch
import { execFileSync } from 'node:child_process';

const MOST = 72;
const VERBS = [
  ...['Add', 'Fix', 'Remove', 'Rename', 'Move', 'Merge', 'Split', 'Replace', 'Speed up', 'Reduce', 'Limit', 'Refuse'],
  ...['Allow', 'Support', 'Document', 'Test', 'Measure', 'Release', 'Revert'],
];
const FIRST = new RegExp(`^(?:${VERBS.join('|')}) \\S`);

const git = (...args) => execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();

function sinceTheRule() {
  const [added] = git('log', '--diff-filter=A', '--format=%H', '--', 'check-subjects.mjs').split('\n');
  return added === '' ? 'HEAD~1..HEAD' : `${added}..HEAD`;
}

const range = process.argv[2] ?? sinceTheRule();
const commits = git('log', '--no-merges', '--format=%h %s', range)
  .split('\n')
  .filter((line) => line !== '');
const wrong = commits.flatMap((line) => {
  const [hash, subject] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)];
  const problems = [
    ...(subject.length > MOST ? [`${subject.length} characters, at most ${MOST}`] : []),
    ...(FIRST.test(subject) ? [] : [`does not begin with one of: ${VERBS.join(', ')}`]),
  ];
  return problems.map((problem) => `${hash} ${subject}\n  ${problem}`);
});
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exitCode = 1;
}
