// The section of CHANGELOG.md about one release.

const HEAD = /^## (.+)$/gm;

/**
 * @param {string} text of CHANGELOG.md
 * @returns {string} the section of the version with its head
 * @throws Error if the newest section is not that of the version, with its date
 */
export function sectionOf(text, version) {
  const heads = [...text.matchAll(HEAD)];
  const [first, second] = heads;
  const expected = `## ${version} (YYYY-MM-DD)`;
  if (first === undefined || !/^\S+ \(\d{4}-\d{2}-\d{2}\)$/.test(first[1]) || !first[1].startsWith(`${version} `)) {
    throw new Error(`CHANGELOG.md: the newest section is "${first?.[0] ?? ''}", and not "${expected}"`);
  }
  return `${text.slice(first.index, second?.index ?? text.length).trim()}\n`;
}
