// The version of a release, and where it stands.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const CHART = 'deploy/helm/jobferry/Chart.yaml';
const IN_CHART = /^(version|appVersion): (.+)$/gm;
/** The names of the packed packages, in documents and examples. */
const TARBALL = /\b(jobferry(?:-client)?-)(\d+\.\d+\.\d+)(?=\.tgz\b)/g;
/** These say what was true at the time, or name an invented version. */
const EXCEPT = [':!CHANGELOG.md', ':!docs/decisions', ':!docs/evidence', ':!CONTRIBUTING.md'];

/** @returns {string} version of the package in a folder */
export function versionOf(root, folder = '.') {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')).version;
}

/** @returns {{ file: string, version: string }[]} each place outside of the two packages that names a version */
export function namedVersions(root) {
  return [
    ...[...read(root, CHART).matchAll(IN_CHART)].map(([, , version]) => ({ file: CHART, version })),
    ...filesWithTarballs(root).flatMap((file) =>
      [...read(root, file).matchAll(TARBALL)].map(([, , version]) => ({ file, version })),
    ),
  ];
}

/** Writes a version into both packages, and wherever else it stands. */
export function setVersion(root, version) {
  for (const folder of ['.', 'packages/client']) {
    const options = { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] };
    const same = '--allow-same-version';
    execFileSync('npm', ['--prefix', folder, 'version', same, '--no-git-tag-version', version], options);
  }
  writeFileSync(join(root, CHART), read(root, CHART).replace(IN_CHART, `$1: ${version}`));
  for (const file of filesWithTarballs(root)) {
    writeFileSync(join(root, file), read(root, file).replace(TARBALL, `$1${version}`));
  }
}

function filesWithTarballs(root) {
  const pattern = '\\bjobferry(-client)?-[0-9]+\\.[0-9]+\\.[0-9]+\\.tgz';
  const paths = ['--', '*.md', '*.json', ...EXCEPT];
  const found = execFileSync('git', ['grep', '-lE', '--untracked', pattern, ...paths], { cwd: root, encoding: 'utf8' });
  return found.trim().split('\n');
}

function read(root, file) {
  return readFileSync(join(root, file), 'utf8');
}
