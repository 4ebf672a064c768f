import { type Breaker, type JobferryClient, unwrap } from '../../../packages/client/src/index.ts';
import { warningIn } from '../../../packages/client/src/verbs/queues.ts';
import { SETTING_DESCRIPTIONS } from '../../contract/setting-descriptions.ts';
import { breakerProblem } from '../../domain/breaker.ts';
import { readDuration } from '../../domain/duration.ts';
import { QUEUE_SETTINGS, type QueueSetting, SETTING_NAMES, type SettingName } from '../../domain/queue-settings.ts';
import { tagsProblem } from '../../domain/tags-problem.ts';
import { QUEUE_ARGUMENT, queueByNameOrId, withApi } from './api.ts';
import { command, type Option, type Result, UsageError } from './command.ts';
import { facts, printable } from './output.ts';
import { optionName } from './refusals.ts';
import { secondsOf } from './values.ts';

const YES_OR_NO = 'yes|no';

/** An option for each setting of the contract, such as `--max-attempts`. */
const OPTIONS: Readonly<Record<string, Option>> = Object.fromEntries(
  SETTING_NAMES.map((name) => [optionName(name), { value: placeholderOf(QUEUE_SETTINGS[name]), help: helpOf(name) }]),
);

/** The first sentence of the contract's description, with options in place of its fields, and without its units. */
function helpOf(name: SettingName): string {
  const [sentence = ''] = SETTING_DESCRIPTIONS[name].split(/\.(?:\s|$)/);
  const text = sentence
    .replace(', in seconds', '')
    .replace('; null if', '; none if')
    .replace(/`([a-z]+[A-Z]\w*)`/g, (_field, other: string) => `--${optionName(other)}`);
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** Settings beside the contract. */
const SWITCHES = {
  'standard-webhooks': { value: YES_OR_NO, help: 'whether deliveries have the headers of Standard Webhooks, too' },
  'encrypt-payloads': { value: YES_OR_NO, help: 'whether payloads of later jobs are stored encrypted' },
  production: { value: YES_OR_NO, help: 'whether `listen` needs --force to take its deliveries' },
} as const satisfies Readonly<Record<string, Option>>;

const SWITCH: Record<keyof typeof SWITCHES, (client: JobferryClient, name: string, isOn: boolean) => Promise<void>> = {
  'standard-webhooks': (client, name, isOn) => client.queues.setStandardWebhooks(name, isOn),
  'encrypt-payloads': (client, name, isOn) => client.queues.setPayloadEncryption(name, isOn),
  production: (client, name, isOn) => client.queues.markProduction(name, isOn),
};

const BREAKER = {
  value: 'N|TIME|N,TIME|no',
  help: 'hold the queue after N failed answers in a row, or when all answers of TIME have failed, such as 10,2m; with TIME alone, jobs that use up their attempts sooner die',
} as const satisfies Option;

const URL_HELP = 'where jobs are delivered';

const TAG = {
  tag: { value: 'LIST', help: 'tags, separated by commas, in place of the present ones; none for no tag' },
};

/** @throws UsageError, before anything is changed */
function tagsIn(list: string | undefined): string[] | undefined {
  const tags = list === 'none' ? [] : list?.split(',').map((tag) => tag.trim());
  const problem = tags === undefined ? null : tagsProblem(tags);
  if (problem !== null) throw new UsageError(`--tag ${problem}`);
  return tags;
}

export const CREATE = command({
  name: 'queue create',
  summary: 'Create a queue, and print its signing secret, which is shown once.',
  reach: 'api',
  options: {
    url: { value: 'URL', help: `${URL_HELP}; needed without --copy-of` },
    template: { value: 'NAME', help: 'template whose values replace the defaults' },
    'copy-of': { value: 'QUEUE', help: 'queue whose settings replace the defaults, all but its name and its secret' },
    ...TAG,
    ...OPTIONS,
  },
  argument: { name: 'NAME', what: 'name of the queue' },
  run: ({ argument: name, options }, environment) => {
    const { url, template, 'copy-of': copyOf } = options;
    if (copyOf !== undefined && template !== undefined) throw new UsageError('give --template or --copy-of, not both');
    if (copyOf === undefined && url === undefined) throw new UsageError('--url is missing, or --copy-of');
    const tags = tagsIn(options.tag);
    const given = { name, ...settingsOf(options), ...(url !== undefined && { webhookUrl: url }) };
    return withApi(environment, async (client) => {
      if (copyOf !== undefined) {
        const other = await queueByNameOrId(client, copyOf);
        const { queue, signingSecret, warning } = await client.queues.copy(other.name, { ...given, tags });
        return shownOnce({ ...queue, signingSecret: signingSecret ?? '', warning });
      }
      const body = { webhookUrl: url ?? '', ...given, ...(template !== undefined && { template }) };
      if (tags !== undefined) {
        const { queue, ...created } = await client.queues.createTagged({ ...body, tags });
        return shownOnce({ ...queue, ...created });
      }
      const created = await client.queues.create({ body });
      const queue = await unwrap(created);
      return shownOnce({ ...queue, warning: warningIn(created) });
    });
  },
});

interface CreatedQueue {
  id: string;
  name: string;
  webhookUrl: string;
  signingSecret: string;
  warning: string | null;
}

function shownOnce(queue: CreatedQueue): Result {
  const text = facts([
    ['id', queue.id],
    ['name', queue.name],
    ['webhook', queue.webhookUrl],
    ['signing secret', queue.signingSecret],
    ['warning', queue.warning ?? undefined],
  ]);
  return { json: queue, text };
}

export const UPDATE = command({
  name: 'queue update',
  summary: 'Change settings of a queue.',
  reach: 'api',
  options: { url: { value: 'URL', help: URL_HELP }, ...TAG, ...OPTIONS, ...SWITCHES, breaker: BREAKER },
  argument: QUEUE_ARGUMENT,
  run: ({ argument, options }, environment) => {
    const body = { ...settingsOf(options), ...(options.url === undefined ? {} : { webhookUrl: options.url }) };
    const switches = Object.keys(SWITCHES).flatMap((name) => {
      const text = (options as Readonly<Record<string, string | boolean | undefined>>)[name];
      return typeof text === 'string' ? [[name as keyof typeof SWITCHES, isYes(text, `--${name}`)] as const] : [];
    });
    const tags = tagsIn(options.tag);
    const breaker = options.breaker === undefined ? undefined : breakerOf(options.breaker);
    if (Object.keys(body).length === 0 && switches.length === 0 && tags === undefined && breaker === undefined)
      throw new UsageError('give at least one setting, such as --concurrency 5');
    return withApi(environment, async (client) => {
      const found = await queueByNameOrId(client, argument);
      const params = { id: found.id };
      const answer = Object.keys(body).length === 0 ? null : await client.queues.update({ params, body });
      const queue = answer === null ? found : await unwrap(answer);
      const warning = answer === null ? null : warningIn(answer);
      if (tags !== undefined) await client.queues.setTags(queue.name, tags);
      for (const [name, isOn] of switches) await SWITCH[name](client, queue.name, isOn);
      if (breaker !== undefined) await client.queues.setBreaker(queue.name, breaker);
      const doubt = warning === null ? '' : `\nwarning: ${printable(warning)}`;
      return { json: { ...queue, warning }, text: `Queue ${printable(queue.name)} is changed.${doubt}` };
    });
  },
});

export const ROTATE = command({
  name: 'queue rotate',
  summary:
    'Create the next signing secret of a queue, and print it. Until it takes over, deliveries have both signatures.',
  reach: 'api',
  options: {
    overlap: { value: 'TIME', help: 'time until it takes over, such as 12h, or 0s for at once; one day by default' },
    finish: { help: 'create none: let the next secret of a rotation take over now' },
  },
  argument: QUEUE_ARGUMENT,
  run: ({ argument, options: { overlap, finish } }, environment) => {
    if (finish && overlap !== undefined) throw new UsageError('give --overlap or --finish, not both');
    const overlapSeconds = overlap === undefined ? {} : { overlapSeconds: secondsOf(overlap, '--overlap') };
    return withApi(environment, async (client) => {
      const { name } = await queueByNameOrId(client, argument);
      if (finish) {
        await client.queues.finishSecretRotation(name);
        return { json: { name, finished: true }, text: `Queue ${printable(name)} signs with its latest secret.` };
      }
      const rotated = await client.queues.rotateSecret(name, overlapSeconds);
      const text = facts([
        ['next signing secret', rotated.signingSecret],
        ['takes over at', rotated.takesOverAt],
      ]);
      return { json: rotated, text };
    });
  },
});

function breakerOf(text: string): Breaker | null {
  if (text === 'no') return null;
  const parts = text.split(',').map((part) => part.trim());
  const failures = parts.filter((part) => /^[1-9]\d*$/.test(part)).map(Number);
  const times = parts.flatMap((part) => (/^\d+$/.test(part) ? [] : [readDuration(part)]));
  const [time] = times;
  if (failures.length > 1 || times.length > 1 || time === null || failures.length + times.length < parts.length)
    throw new UsageError('--breaker must be a number of answers, a time, or both, such as 10, 2m or 10,2m; or no');
  const breaker = { failures: failures[0], seconds: time === undefined ? undefined : time / 1000 };
  // GraphQL refuses a fraction, and a number of more than 32 bits, with a sentence about its variable.
  const problem = breakerProblem({ failures: breaker.failures ?? null, seconds: breaker.seconds ?? null });
  if (problem !== null) throw new UsageError(`--breaker: ${problem.field} ${problem.text}`);
  return breaker;
}

function placeholderOf(setting: QueueSetting): string {
  if (setting.kind === 'choice') return setting.values.join('|');
  return { whole: 'N', seconds: 'TIME', switch: YES_OR_NO }[setting.kind];
}

/** @throws UsageError for a value of another kind. The service checks the bounds. */
function settingsOf(options: Readonly<Record<string, string | boolean | undefined>>): Record<string, unknown> {
  const given = SETTING_NAMES.flatMap((name) => {
    const text = options[optionName(name)];
    return typeof text === 'string' ? [[name, readSetting(name, text)]] : [];
  });
  return Object.fromEntries(given);
}

function isYes(text: string, option: string): boolean {
  if (text !== 'yes' && text !== 'no') throw new UsageError(`${option} must be yes or no`);
  return text === 'yes';
}

function readSetting(name: SettingName, text: string): unknown {
  const setting: QueueSetting = QUEUE_SETTINGS[name];
  const option = `--${optionName(name)}`;
  const isNullable = setting.default === null;
  if (isNullable && text === 'none') return null;
  if (setting.kind === 'switch') return isYes(text, option);
  if (setting.kind === 'choice') {
    if (!setting.values.includes(text)) throw new UsageError(`${option} must be ${setting.values.join(' or ')}`);
    return text;
  }
  if (setting.kind === 'seconds') return secondsOf(text, option);
  if (!/^\d+$/.test(text)) throw new UsageError(`${option} must be a whole number${isNullable ? ', or none' : ''}`);
  return Number(text);
}
