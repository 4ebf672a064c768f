import { readFile } from 'node:fs/promises';
import { unwrap } from '../../../packages/client/src/index.ts';
import { warningIn } from '../../../packages/client/src/verbs/queues.ts';
import { WITHHELD } from '../../process/variables.ts';
import { applyTo, type Change, changesTo, type QueueStore } from '../declared/apply.ts';
import { messageOf, withApi } from './api.ts';
import { CommandError, command } from './command.ts';
import { printable } from './output.ts';
import { tagsOfQueues } from './queue-api.ts';

export const APPLY = command({
  name: 'apply',
  summary:
    'Create the queues of a file, and change the settings that differ. Queues that it does not have stay as they are.',
  reach: 'api',
  options: { 'dry-run': { help: 'change nothing: show the differences' } },
  argument: {
    name: 'FILE',
    what: `JSON or YAML, such as {"queues":[{"name":"emails","webhookUrl":"https://\${HOST}/jobs"}]}; \${HOST} is a variable`,
  },
  run: async ({ argument: name, options }, environment) => {
    const text = await readFile(name, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new CommandError(
        `${name} cannot be read: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}`,
      );
    });
    const { readQueuesFile } = await import('../declared/queues-file.ts');
    const file = readQueuesFile({ name, text, variables: environment.variables, secrets: WITHHELD });
    const { queues: declared, written } = file;
    return withApi(environment, async (client) => {
      const store: QueueStore = {
        list: async () => {
          const queues = await unwrap(client.queues.list());
          const tags = declared.some((queue) => queue.tags !== undefined) ? await tagsOfQueues(client) : null;
          return queues.map((queue) => ({ ...queue, tags: tags?.get(queue.id) }));
        },
        create: (queue) => client.queues.ensure(queue),
        update: async ({ id, name }, { tags, ...body }) => {
          let warning: string | null = null;
          if (Object.keys(body).length > 0) {
            const answer = await client.queues.update({ params: { id }, body });
            await unwrap(answer);
            warning = warningIn(answer);
          }
          if (tags !== undefined) await client.queues.setTags(name, tags);
          return { warning };
        },
      };
      const present = await store.list();
      const changes = changesTo(present, declared, written);
      if (options['dry-run']) return { json: { changes }, text: changes.map((one) => line(one, true)).join('\n') };
      const lines: string[] = [];
      const made: Record<string, string> = {};
      const warnings: Record<string, string> = {};
      for (const [n, change] of changes.entries()) {
        const wanted = declared[n];
        if (wanted === undefined) continue;
        const { secret, isOfAnother, warning } = await applyTo(store, present, wanted).catch((error: unknown) => {
          throw interrupted(error, change, lines);
        });
        if (secret !== null) made[change.queue] = secret;
        if (isOfAnother) change.kind = 'none';
        if (isOfAnother) lines.push(`${printable(change.queue)}: was created meanwhile, by another process`);
        else lines.push(line(change, false) + (secret === null ? '' : `\n  signing secret, shown once: ${secret}`));
        if (warning !== null) warnings[change.queue] = warning;
        if (warning !== null) lines.push(`  warning: ${printable(warning)}`);
      }
      return { json: { changes, secrets: made, warnings }, text: lines.join('\n') };
    });
  },
});

/** The changes so far stay, and their secrets are shown, because no later run can show them. */
function interrupted(error: unknown, { queue }: Change, lines: readonly string[]): CommandError {
  const message = messageOf(error);
  const done =
    lines.length === 0 ? '' : `\n\n${lines.join('\n')}\n\nThese changes were made. Run the command again to continue.`;
  return new CommandError(`queue ${printable(queue)}: ${message}${done}`, { cause: error });
}

function line({ queue, kind, settings }: Change, isDry: boolean): string {
  const name = printable(queue);
  if (kind === 'none') return `${name}: no change`;
  if (kind === 'create') return `${name}: ${isDry ? 'to be created' : 'created'}`;
  const list = settings.map((one) => `${one.name} ${shown(one.from)} → ${shown(one.to)}`);
  return `${name}: ${isDry ? 'to be changed' : 'changed'}: ${list.join(', ')}`;
}

function shown(value: unknown): string {
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}
