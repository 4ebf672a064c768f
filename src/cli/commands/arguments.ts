import { parseArgs } from 'node:util';
import { meantBy } from '../../domain/spelling.ts';
import { type Command, type Given, type OptionTable, UsageError } from './command.ts';

const JSON_OPTION = { json: { help: 'print the result as JSON' } } as const;

/**
 * Reads what follows the name of a command.
 * @throws UsageError for unknown arguments: a misspelt one must not be ignored
 */
export function readArguments(command: Command, args: string[]): Given<OptionTable> & { json: boolean } {
  const table = optionsOf(command);
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }]),
  ) as Record<string, { type: 'boolean' | 'string' }>;
  const { values, positionals } = parsedOrRefused(args, table, options);
  const excess = positionals[command.argument === undefined ? 0 : 1];
  if (excess !== undefined) throw new UsageError(`unexpected argument "${excess}"`);
  const [argument = ''] = positionals;
  const { argument: expected } = command;
  if (expected !== undefined && expected.optional !== true && argument === '')
    throw new UsageError(missing(command, expected.name));
  for (const [name, { required }] of Object.entries(table)) {
    if (required === true && (values[name] ?? '') === '') throw new UsageError(missing(command, `--${name}`));
  }
  const isFlag = (name: string) => table[name]?.value === undefined;
  const complete = Object.keys(table).map((name) => [name, isFlag(name) ? values[name] === true : values[name]]);
  return { options: Object.fromEntries(complete), argument, json: values.json === true };
}

/** Names what is missing, and shows in the second line where it stands. */
function missing(command: Command, what: string): string {
  const whole = usageOf(command);
  const usage = whole.length <= MAX_USAGE ? whole : usageOf({ ...command, options: requiredOf(command) });
  return `${what} is missing\nusage: jobferry ${usage}${usage === whole ? '' : ' [OPTIONS]'}`;
}

/** Characters of a usage in an error. Some commands have thirty options. */
const MAX_USAGE = 100;

function requiredOf({ options }: Command): OptionTable {
  return Object.fromEntries(Object.entries(options).filter(([, { required }]) => required === true));
}

/** Where a command finds the service. */
const REACH = {
  api: 'Uses the API at JOBFERRY_URL with JOBFERRY_API_KEY, or the `jobferry dev` or `serve` of this folder.',
  either:
    'If JOBFERRY_URL is set, the command uses that API with JOBFERRY_API_KEY. Otherwise it uses the `jobferry dev` that runs in this folder, unless DATA_DIR names other data of Jobferry. If neither applies, it uses the database itself.',
} as const;

/** The usage of one command, with its options. */
export function helpOf(command: Command): string {
  const { summary, argument } = command;
  const options = Object.entries(optionsOf(command)).map(([name, { value, help }]) => [
    value === undefined ? `--${name}` : `--${name} ${value}`,
    help,
  ]);
  const rows = argument === undefined ? options : [[argument.name, argument.what], ...options];
  const width = Math.max(0, ...rows.map(([left = '']) => left.length));
  const lines = rows.map(([left = '', help]) => `  ${left.padEnd(width)}  ${help}`);
  // `key create` takes a time of day as well, and no number.
  const takesSeconds = Object.entries(command.options).some(
    ([name, { value }]) => value === 'TIME' && name !== 'expires',
  );
  if (takesSeconds) lines.push('', 'TIME without a unit is a number of seconds.');
  const text = command.reach === undefined ? summary : `${summary} ${REACH[command.reach]}`;
  return [`jobferry ${usageOf(command)}`, '', text, ...(lines.length > 0 ? ['', ...lines] : [])].join('\n');
}

/** The name of a command with its argument and its own options, as in `key create --account ID [--name N]`. */
export function usageOf({ name, argument, options }: Command): string {
  const words = Object.entries(options).map(([option, { value, required }]) => {
    const whole = value === undefined ? `--${option}` : `--${option} ${value}`;
    return required === true ? whole : `[${whole}]`;
  });
  const place = argument?.optional === true ? `[${argument.name}]` : argument?.name;
  return [name, ...(place === undefined ? [] : [place]), ...words].join(' ');
}

function optionsOf({ options, isService }: Command): OptionTable {
  return isService === true ? options : { ...options, ...JSON_OPTION };
}

type ParserOptions = Record<string, { type: 'boolean' | 'string' }>;

function parsedOrRefused(args: string[], table: OptionTable, options: ParserOptions) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    const complaint = complaintOf(args, table, options);
    throw new UsageError(complaint ?? (error instanceof Error ? error.message : String(error)));
  }
}

/** Returns a message about a wrong option. It is clearer than Node's, which is used if this is null. */
function complaintOf(args: string[], table: OptionTable, options: ParserOptions): string | null {
  const known = Object.keys(table).map((name) => `--${name}`);
  const { tokens } = parseArgs({ args, options, allowPositionals: true, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    if (!known.includes(token.rawName)) {
      const meant = meantBy(token.rawName, known);
      if (meant !== null) return `unknown option ${token.rawName}: did you mean ${meant}?`;
      const takes = known.length === 0 ? 'the command takes no options' : `the command takes ${listed(known)}`;
      return `unknown option ${token.rawName}: ${takes}`;
    }
    if (table[token.name]?.value === undefined) {
      if (token.value !== undefined) return `${token.rawName} takes no value`;
      continue;
    }
    const { value = '-', inlineValue } = token;
    if (value.startsWith('-') && inlineValue !== true) {
      return `${token.rawName} needs a value; if it begins with "-", write ${token.rawName}=-…`;
    }
  }
  return null;
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
