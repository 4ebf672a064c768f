import { JobferryApiError } from '../../../packages/client/src/index.ts';
import { JobferryError } from '../../domain/errors.ts';
import type { Command, Environment, Given, OptionTable, Result } from './command.ts';

/** Options whose name is another one than that of the field. */
const OTHERS: Readonly<Record<string, string>> = {
  webhookUrl: 'url',
  tags: 'tag',
  idempotencyKey: 'key',
  overlapSeconds: 'overlap',
  ratePerSecond: 'rate',
  retryAfter: 'for',
  seconds: 'by',
};

/** `max-attempts` for `maxAttempts`. */
export const optionName = (field: string) => field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Runs a command. A refusal names what was typed: `--max-attempts must be 1 to 25`, and not `maxAttempts`. */
export async function run(
  command: Command,
  given: Given<OptionTable>,
  environment: Environment,
): Promise<Result | null> {
  try {
    return await command.run(given, environment);
  } catch (error) {
    if (error instanceof JobferryApiError) error.message = inOptions(command, error.message, error.fieldErrors);
    if (error instanceof JobferryError) error.message = inOptions(command, error.message, error.fields);
    throw error;
  }
}

/** The options of a command in a text, in place of fields of the API. */
function inOptions(
  command: Command,
  message: string,
  fields: Readonly<Record<string, readonly string[]>> = {},
): string {
  const problems = Object.entries(fields).map(([field, texts]) => ({ field, text: texts.join(', ') }));
  const before = problems.map(({ field, text }) => `${field}: ${text}`).join('; ');
  const after = problems.map(({ field, text }) => sentenceOf(command, field, text));
  const rest = message.slice(0, -before.length);
  // The queue is that of the command. What is said about the whole request stays.
  if (before !== '' && message.endsWith(before) && !rest.includes('; ') && after.every((one) => one !== null))
    return after.join('; ');
  // Reports have their refusals in one text, after the job.
  const [, field = '', text = ''] = /^\S+: ([a-z]\w*): (.+)$/is.exec(message) ?? [];
  const sentence = field === '' ? null : sentenceOf(command, field, text);
  if (sentence !== null) return sentence;
  return message.replace(/\b[a-z]+[A-Z]\w*/g, (word) => labelOf(command, word) ?? word);
}

function sentenceOf(command: Command, field: string, text: string): string | null {
  const [name = '', part] = field.split('.');
  const label = labelOf(command, name);
  if (label === null) return null;
  const unit = part === undefined && /seconds$/i.test(field) && /\d$/.test(text) ? ' seconds' : '';
  const subject = part === undefined ? label : `${label}: ${part}`;
  return `${subject}${/^(must|cannot) /.test(text) ? '' : ':'} ${text}${unit}`;
}

function labelOf({ options, argument }: Command, field: string): string | null {
  const option = OTHERS[field] ?? optionName(field);
  if (Object.hasOwn(options, option)) return `--${option}`;
  return argument?.name.toLowerCase() === field ? argument.name : null;
}
