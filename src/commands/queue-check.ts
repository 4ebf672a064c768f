import { beginReceiverCheck } from '../db/queues/check.ts';
import { examine } from '../delivery/examine.ts';
import { TEST_PAYLOAD } from '../delivery/test-request.ts';
import { OPERATOR } from '../domain/audit.ts';
import type { ExaminationFinding } from '../domain/receiver-examination.ts';
import { openSender } from '../start/open-sender.ts';
import { command, UsageError } from './command.ts';
import { withDatabase } from './database.ts';
import { printable } from './output.ts';
import { OF_QUEUE, queueOf } from './queue-of.ts';

/** Leaves room for the tests that add to it. */
const MAX_PAYLOAD_BYTES = 100_000;
/** Examinations of an account in a minute, test requests of the dashboard included. */
const PER_MINUTE = 10;
/** Connections that are kept open. */
const MAX_SOCKETS = 32;

export const QUEUE_CHECK = command({
  name: 'queue check',
  summary:
    'Send up to thirty test requests to the receiver of a queue, and judge its answers: signatures, redirects, sizes, duplicates, speed. The receiver may do the work of each.',
  options: {
    ...OF_QUEUE,
    payload: { value: 'JSON', help: `payload that the receiver takes; ${TEST_PAYLOAD} by default` },
  },
  argument: { name: 'QUEUE', what: 'the id or the name of the queue' },
  run: ({ argument, options: { account, payload = TEST_PAYLOAD } }, environment) =>
    withDatabase(environment, async ({ db }, config) => {
      assertObject(payload);
      const { queue } = await queueOf(db, argument, account);
      const by = { accountId: queue.accountId, actor: OPERATOR };
      const target = await beginReceiverCheck(db, by, queue.id, PER_MINUTE);
      if (target === null) throw new UsageError(`queue ${queue.id} was deleted`);
      if (target === 'too_many')
        throw new UsageError(`at most ${PER_MINUTE} checks a minute and account: wait a moment`);
      const sender = openSender(config, MAX_SOCKETS);
      try {
        const ackTimeout = target.mode === 'ack' ? target.ackTimeout : null;
        const findings = await examine(
          sender,
          { ...target, accountId: queue.accountId, payload, ackTimeout },
          {
            signatureHeader: config.signatureHeader,
            timeoutMs: config.webhookTimeoutMs,
            lifetimeMs: config.jobLifetimeMs,
          },
        );
        const isFailure = findings.some(({ status }) => status === 'failed');
        const head = `Receiver of ${printable(queue.name)}: ${printable(target.webhookUrl)}`;
        const json = { ok: !isFailure, queueId: queue.id, webhookUrl: target.webhookUrl, findings };
        return { json, text: [head, ...findings.map(line)].join('\n'), isFailure };
      } finally {
        await sender.close();
      }
    }),
});

/** @throws UsageError */
function assertObject(payload: string): void {
  if (Buffer.byteLength(payload) > MAX_PAYLOAD_BYTES) {
    throw new UsageError(`--payload must have at most ${MAX_PAYLOAD_BYTES} bytes`);
  }
  let value: unknown = null;
  try {
    value = JSON.parse(payload);
  } catch {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError(`--payload must be a JSON object, such as '${TEST_PAYLOAD}'`);
  }
}

const WIDTH = 'missing signature'.length;

function line({ name, status, text, advice }: ExaminationFinding): string {
  const first = `${status.padEnd('warning'.length)}  ${name.padEnd(WIDTH)}  ${printable(text)}`;
  return advice === null ? first : `${first}\n${' '.repeat(9)}→ ${printable(advice)}`;
}
