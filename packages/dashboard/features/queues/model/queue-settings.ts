import {
  isUnbounded,
  type NumberSetting,
  QUEUE_SETTINGS,
  type QueueSetting,
  type SettingName,
  type SettingValues,
} from '../../../../../src/domain/queue-settings.ts';
import { many, number, seconds } from '../../../../query/words/format.ts';

/** The settings of a queue as a form: their texts, and what has changed. */

/** GraphQL has the values of enumerations in capitals. */
type InCapitals<Value> = Value extends string ? Uppercase<Value> : Value;

export type Settings = { [Name in SettingName]: InCapitals<SettingValues[Name]> } & {
  webhookUrl: string;
  tags: string[];
};
export type FieldName = keyof Settings;
export type Value = Settings[FieldName];

type When = QueueSetting['applies'];
/** The end of a sentence that begins with "It takes effect …". */
export const WHEN: Readonly<Record<When, string>> = {
  now: 'immediately',
  delivery: 'with the next delivery',
  published: 'for jobs published from now on',
};

interface Words {
  name: FieldName;
  label: string;
  hint?: string;
  /** The values of a choice or a switch. */
  choices?: readonly (readonly [value: string, label: string])[];
}
export interface Field extends Words {
  setting: FieldSetting;
  when: When;
}

type FieldSetting = QueueSetting | { kind: 'url' | 'tags'; applies: When };

const SETTINGS: Readonly<Record<FieldName, FieldSetting>> = {
  ...QUEUE_SETTINGS,
  webhookUrl: { kind: 'url', applies: 'delivery' },
  tags: { kind: 'tags', applies: 'now' },
};

const WORDS: readonly { title: string; fields: readonly Words[] }[] = [
  {
    title: 'Receiver',
    fields: [
      { name: 'webhookUrl', label: 'URL' },
      {
        name: 'mode',
        label: 'A 2xx answer means',
        choices: [
          ['STANDARD', 'the job is completed'],
          ['ACK', 'received; a worker reports later'],
        ],
      },
      { name: 'ackTimeout', label: 'Time to report, in seconds' },
      {
        name: 'ackTimeoutAction',
        label: 'Without a report in time',
        choices: [
          ['RETRY', 'the attempt has failed'],
          ['DEAD', 'the job is dead'],
        ],
      },
    ],
  },
  {
    title: 'Speed',
    fields: [
      { name: 'concurrency', label: 'Concurrency', hint: 'Jobs in flight at the same time' },
      { name: 'rateLimitMax', label: 'Rate limit', hint: 'Deliveries per window; empty for no limit' },
      { name: 'rateLimitWindow', label: 'Window in seconds' },
    ],
  },
  {
    title: 'When a delivery fails',
    fields: [
      { name: 'maxAttempts', label: 'Attempts' },
      { name: 'backoffDelay', label: 'First back-off, in seconds' },
      {
        name: 'backoffType',
        label: 'Back-off growth',
        choices: [
          ['EXPONENTIAL', 'doubles'],
          ['FIXED', 'stays the same'],
        ],
      },
      { name: 'maxDefers', label: 'Holds', hint: 'How often the receiver may defer a job' },
      {
        name: 'dlqEnabled',
        label: 'When a job dies',
        choices: [
          ['true', 'keep a dead letter'],
          ['false', 'keep nothing'],
        ],
      },
    ],
  },
  {
    title: 'Tags',
    fields: [
      {
        name: 'tags',
        label: 'Tags',
        hint: 'Words with spaces between them, such as mail eu. Search queues and jobs with tag:eu',
      },
    ],
  },
];

export const GROUPS = WORDS.map(({ title, fields }) => ({
  title,
  fields: fields.map((words): Field => {
    const setting = SETTINGS[words.name];
    return { ...words, setting, when: setting.applies };
  }),
}));

export const FIELDS: readonly Field[] = GROUPS.flatMap(({ fields }) => fields);

/** Texts that were typed, by field. What was not touched follows the queue. */
export type Edits = Readonly<Partial<Record<FieldName, string>>>;

/** The value as it stands in its control. */
export function textOf(value: Value): string {
  return value === null ? '' : typeof value === 'object' ? value.join(' ') : String(value);
}

/** The value of a text, or what is wrong with it. */
function parse({ setting }: Field, text: string): { value: Value } | { problem: string } {
  switch (setting.kind) {
    case 'choice':
      return { value: text as Value };
    case 'switch':
      return { value: text === 'true' };
    case 'url':
      return /^https?:\/\/[^\s/]/.test(text.trim())
        ? { value: text.trim() }
        : { problem: 'A URL begins with https:// or http://.' };
    case 'tags':
      return parseTags(text);
    default:
      return parseNumber(setting, text.trim());
  }
}

/** As the server does: each tag once, in order. */
function parseTags(text: string): { value: Value } | { problem: string } {
  const tags = [...new Set(text.split(/[\s,]+/).filter((tag) => tag !== ''))].sort();
  if (tags.length > 10) return { problem: 'At most 10 tags.' };
  return tags.every((tag) => /^[a-z0-9._-]{1,32}$/.test(tag))
    ? { value: tags }
    : { problem: 'A tag has 1 to 32 characters: a-z, 0-9, -, _ and the full stop.' };
}

function parseNumber(setting: NumberSetting, text: string): { value: Value } | { problem: string } {
  const { kind, min, max } = setting;
  const isOptional = setting.default === null;
  if (text === '' && isOptional) return { value: null };
  const value = Number(text);
  const isNumber = /^\d+(\.\d+)?$/.test(text) && (kind === 'seconds' || Number.isInteger(value));
  if (isNumber && value >= min && value <= max) return { value };
  const what = kind === 'whole' ? 'A whole number' : 'A number';
  const bounds = isUnbounded(setting) ? `of at least ${number(min)}` : `from ${number(min)} to ${number(max)}`;
  return { problem: `${what} ${bounds}${isOptional ? ', or nothing' : ''}.` };
}

export interface Change {
  name: FieldName | 'breaker';
  label: string;
  from: string;
  to: string;
  when: When;
  value: Value | Breaker;
}

export interface Review {
  changes: Change[];
  /** Problems of what was typed, by field. */
  problems: ReadonlyMap<FieldName, string>;
}

/** The settings that the edits change. A text that means the present value changes nothing. */
export function review(settings: Settings, edits: Edits): Review {
  const changes: Change[] = [];
  const problems = new Map<FieldName, string>();
  for (const field of FIELDS) {
    const { name, label, when } = field;
    const text = edits[name];
    if (text === undefined) continue;
    const parsed = parse(field, text);
    if ('problem' in parsed) problems.set(name, parsed.problem);
    else if (textOf(parsed.value) !== textOf(settings[name])) {
      const { value } = parsed;
      changes.push({ name, label, when, value, from: shown(field, settings[name]), to: shown(field, value) });
    }
  }
  return { changes, problems };
}

/** A value for people. */
export function shown({ setting, choices }: Field, value: Value): string {
  if (value === null) return 'no limit';
  if (setting.kind === 'tags') return textOf(value) || 'none';
  if (choices !== undefined) return choices.find(([one]) => one === String(value))?.[1] ?? String(value);
  if (typeof value !== 'number') return String(value);
  return setting.kind === 'seconds' ? seconds(value) : number(value);
}

/** The input of `updateQueue`: the changed fields only, so that a change by another person meanwhile stays. */
export function inputOf(changes: readonly Change[]): Partial<Settings> {
  return Object.fromEntries(changes.map(({ name, value }) => [name, value]));
}

/** The first line of the page. */
export function sentenceOfReview({ changes, problems }: Review): string {
  if (problems.size > 0) {
    return `${many(problems.size, 'setting is', 'settings are')} invalid.`;
  }
  if (changes.length === 0) return 'Change a setting to see when it takes effect.';
  const parts = (Object.keys(WHEN) as When[]).flatMap((when) => {
    const count = changes.filter((change) => change.when === when).length;
    if (count === 0) return [];
    return [changes.length === count ? WHEN[when] : `${count} ${WHEN[when]}`];
  });
  const head = many(changes.length, 'setting changes', 'settings change');
  return parts.length === 1 ? `${head} ${parts[0]}.` : `${head}: ${parts.join(', ')}.`;
}

export interface Breaker {
  failures: number | null;
  seconds: number | null;
}

/** "It opens after 10 failed answers in a row, or when all answers of 1 min have failed." */
export function breakerLead(breaker: Breaker | null): string {
  if (breaker === null) return 'While the receiver is down, each job uses up its attempts and dies.';
  return `It opens ${shownBreaker(breaker)}.`;
}

/** "after 10 failed answers in a row"; "none" for a queue without one. */
export function shownBreaker(breaker: Breaker | null): string {
  if (breaker === null) return 'none';
  const { failures, seconds: time } = breaker;
  const byNumber = failures === null ? [] : [`after ${many(failures, 'failed answer')} in a row`];
  const byTime = time === null ? [] : [`when all answers of ${seconds(time)} have failed`];
  return [...byNumber, ...byTime].join(', or ');
}
