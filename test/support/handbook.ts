import { readFileSync } from 'node:fs';

const HANDBOOK = new URL('../../docs/operations.md', import.meta.url);

/**
 * Returns a block of docs/operations.md, without its indentation.
 * @param after text before it, such as a heading: the first block of the language behind it is meant
 */
export function blockOf(after: string, language: 'sh' | 'sql'): string {
  const text = readFileSync(HANDBOOK, 'utf8');
  const at = text.indexOf(after);
  const [, indent, block] =
    new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'm').exec(text.slice(Math.max(at, 0))) ?? [];
  if (at < 0 || block === undefined) throw new Error(`docs/operations.md has no block of ${language} after ${after}`);
  return block.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
}
