// The files of a release.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCKERFILE = 'deploy/Dockerfile';

/**
 * Packs the service and the client.
 * @param {string} root a clone: packing builds in it
 */
export function packBoth(root, to) {
  for (const folder of ['.', './packages/client']) run(root, 'npm', ['pack', folder, '--pack-destination', to]);
}

/**
 * Writes what `docker build -f deploy/Dockerfile` reads: the files of the commit that `Dockerfile.dockerignore` lets
 * through, and the Dockerfile.
 */
export function writeImageContext(root, file) {
  const rules = readFileSync(join(root, `${DOCKERFILE}.dockerignore`), 'utf8').split('\n');
  const paths = rules.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  run(root, 'git', ['archive', '--format=tar.gz', `--output=${file}`, 'HEAD', DOCKERFILE, ...paths]);
}

/** Writes the packages that the service installs, for all platforms, as CycloneDX. */
export function writeBillOfMaterials(root, file) {
  const args = ['sbom', '--sbom-format=cyclonedx', '--omit=dev', '--package-lock-only'];
  const bill = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 }));
  // npm takes the name of the folder.
  bill.metadata.component.name = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).name;
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
}

/** Writes SHA256SUMS, as `sha256sum --check` reads it. */
export function writeChecksums(folder) {
  const lines = readdirSync(folder)
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}  ${name}\n`,
    );
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
}

function run(cwd, program, args) {
  execFileSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}
