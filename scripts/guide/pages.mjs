// The documents of the guide, and where each is in it.
import { existsSync, readdirSync } from 'node:fs';
import { join, posix, sep } from 'node:path';

/** Documents beside those of docs/ and examples/, and their names in the guide. */
const OTHERS = {
  'README.md': 'front-page.html',
  'CHANGELOG.md': 'changelog.html',
  'CONTRIBUTING.md': 'contributing.html',
  'SECURITY.md': 'security.html',
  'deploy/README.md': 'deploy.html',
  'packages/client/README.md': 'client.html',
};

/** @returns {string[]} paths from the root, those of docs/ first */
export function pagesOf(root) {
  const below = (folder) =>
    existsSync(join(root, folder))
      ? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
          .map((name) => posix.join(folder, name.split(sep).join('/')))
          .filter((path) => path.endsWith('.md') && !path.includes('/node_modules/'))
          .sort()
      : [];
  return [
    ...below('docs'),
    ...below('examples'),
    ...Object.keys(OTHERS).filter((path) => existsSync(join(root, path))),
  ];
}

/** @returns {string} path in the guide of a document or a picture */
export function urlOf(path) {
  const other = OTHERS[path];
  if (other !== undefined) return other;
  const inGuide = path.startsWith('docs/') ? path.slice('docs/'.length) : path;
  return inGuide.replace(/(^|\/)README\.md$/, '$1index.html').replace(/\.md$/, '.html');
}

/** @returns {string} the way from one path in the guide to another */
export function wayTo(to, from) {
  return posix.relative(posix.dirname(from), to) || posix.basename(to);
}

export function isPicture(path) {
  return /\.(png|svg)$/.test(path);
}

/** @returns {string[]} pictures that documents may show */
export function picturesOf(root) {
  return ['docs/pictures', 'docs/dashboard'].flatMap((folder) =>
    existsSync(join(root, folder))
      ? readdirSync(join(root, folder))
          .filter(isPicture)
          .map((name) => `${folder}/${name}`)
          .sort()
      : [],
  );
}
