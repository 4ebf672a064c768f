import { readFileSync } from 'node:fs';

/** The handbook, page after page. */
export const HANDBOOK = ['operations', 'accounts', 'metrics', 'alerts', 'troubleshooting']
  .map((page) => readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8'))
  .join('\n');

/**
 * Returns a block of the handbook, without its indentation.
 * @param after text before it, such as a heading: the first block of the language behind it is meant
 */
export function blockOf(after: string, language: 'sh' | 'sql'): string {
  const at = HANDBOOK.indexOf(after);
  const [, indent, block] =
    new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'm').exec(HANDBOOK.slice(Math.max(at, 0))) ?? [];
  if (at < 0 || block === undefined) throw new Error(`the handbook has no block of ${language} after ${after}`);
  return block.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
}
