import type { ZodTypeAny } from 'zod';
import { MEANINGS, type Meaning } from '../../process/config/meanings.ts';
import { environment, VARIABLES } from '../../process/config.ts';
import { SECRETS } from '../../process/variables.ts';
import { helpOf } from './arguments.ts';
import { COMMANDS } from './index.ts';

/** Documents with a part that `npm run generate` writes, by their path from the root. */
export const REFERENCES: Readonly<Record<string, () => string>> = {
  'docs/configuration.md': variableReference,
  'docs/cli.md': commandReference,
};

const BEGIN = '<!-- Made from the code by `npm run generate`: begin -->\n\n';
const END = '\n<!-- end -->';

/** Replaces the part of a document that is made from the code. @throws Error if the document has no place for it */
export function withPart(document: string, part: string): string {
  const [before, rest] = document.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined) throw new Error('the document has no place for its generated part');
  return `${before}${BEGIN}${part}${END}${after}`;
}

function variableReference(): string {
  const rows = Object.entries(MEANINGS).map(([name, meaning]) => variableRow(name, meaning));
  const secrets = SECRETS.map((name) => `- \`${name}\``);
  return [
    ...['| Variable | Default | Meaning |', '|---|---|---|', ...rows, ''],
    ...['## Secrets in files', ''],
    ...['Each of these can be read from a file, which a variable with `_FILE` at the end of its name names:', ''],
    ...secrets,
    '',
  ].join('\n');
}

function variableRow(name: string, { unset = 'not set', meaning }: Meaning): string {
  const fallback = defaultOf(name);
  return `| \`${name}\` | ${fallback === undefined ? unset : `\`${fallback}\``} | ${meaning} |`;
}

/** The default that the schema of a variable has, as it would be given; undefined if there is none. */
export function defaultOf(name: string): string | undefined {
  if (!VARIABLES.includes(name)) throw new Error(`${name} is not a variable`);
  let schema: ZodTypeAny = environment.shape[name as keyof typeof environment.shape];
  while (schema._def.typeName === 'ZodEffects') schema = schema._def.schema;
  return schema._def.typeName === 'ZodDefault' ? String(schema._def.defaultValue()) : undefined;
}

/** The help of each command, by the first words of their names. */
function commandReference(): string {
  const groupOf = (name: string) => name.split(' ')[0];
  const groups = [...new Set(COMMANDS.map(({ name }) => groupOf(name)))];
  const sections = groups.map((group) => {
    const commands = COMMANDS.filter(({ name }) => groupOf(name) === group);
    return [`## ${group}\n`, ...commands.map((one) => `\`\`\`text\n${helpOf(one)}\n\`\`\`\n`)].join('\n');
  });
  return sections.join('\n');
}
