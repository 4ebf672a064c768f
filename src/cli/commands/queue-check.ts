import { beginReceiverCheck } from '../../db/queues/check.ts';
import { OPERATOR } from '../../domain/audit.ts';
import { type ExaminationFinding, payloadProblem, TEST_PAYLOAD } from '../../domain/receiver-examination.ts';
import { createExaminer, openSender } from '../../process/start/open-sender.ts';
import { CommandError, command, UsageError } from './command.ts';
import { withDatabase } from './database.ts';
import { printable } from './output.ts';
import { OF_QUEUE, queueOf } from './queue-of.ts';

/** Examinations of an account in a minute, those of the dashboard included. */
const PER_MINUTE = 10;
/** Connections that are kept open. */
const MAX_SOCKETS = 32;

export const QUEUE_CHECK = command({
  name: 'queue check',
  summary:
    'Send up to thirty test requests to the receiver of a queue, and check its answers: signatures, redirects, sizes, duplicates, speed. The receiver may process each request.',
  options: {
    ...OF_QUEUE,
    payload: { value: 'JSON', help: `payload that the receiver takes; ${TEST_PAYLOAD} by default` },
  },
  argument: { name: 'QUEUE', what: 'the id or the name of the queue' },
  run: ({ argument, options: { account, payload = TEST_PAYLOAD } }, environment) =>
    withDatabase(environment, async ({ db }, config) => {
      const problem = payloadProblem(payload);
      if (problem !== null) throw new UsageError(`--payload ${problem}`);
      const { queue } = await queueOf(db, argument, account);
      const by = { accountId: queue.accountId, actor: OPERATOR };
      const target = await beginReceiverCheck(db, by, queue.id, {
        action: 'queue.examine_receiver',
        perMinute: PER_MINUTE,
      });
      if (target === null) throw new CommandError(`queue ${queue.id} was deleted`);
      if (target === 'too_many')
        throw new CommandError(`at most ${PER_MINUTE} checks a minute and account: wait a moment`);
      const sender = openSender(config, MAX_SOCKETS);
      try {
        const examine = createExaminer(config, sender);
        const findings = await examine({ ...target, accountId: queue.accountId, payload });
        const isFailure = findings.some(({ status }) => status === 'failed');
        const json = { ok: !isFailure, queueId: queue.id, webhookUrl: target.webhookUrl, findings };
        return {
          json,
          text: examinationText({ name: queue.name, webhookUrl: target.webhookUrl }, findings),
          isFailure,
        };
      } finally {
        await sender.close();
      }
    }),
});

export function examinationText(
  { name, webhookUrl }: { name: string; webhookUrl: string },
  findings: readonly ExaminationFinding[],
): string {
  return [`Receiver of ${printable(name)}: ${printable(webhookUrl)}`, ...findings.map(line)].join('\n');
}

const WIDTH = 'missing signature'.length;

function line({ name, status, text, advice }: ExaminationFinding): string {
  const first = `${status.padEnd('warning'.length)}  ${name.padEnd(WIDTH)}  ${printable(text)}`;
  return advice === null ? first : `${first}\n${' '.repeat(9)}→ ${printable(advice)}`;
}
