import { createLog } from '../../telemetry/log.ts';
import { attemptLine } from '../dev/attempts.ts';
import { type ListenPrint, listen } from '../listen/run.ts';
import { apiAddress, QUEUE_ARGUMENT } from './api.ts';
import { command } from './command.ts';
import { jsonOf, printable } from './output.ts';
import { stopOnSignal } from './stop-on-signal.ts';
import { urlOf } from './values.ts';

export const LISTEN = command({
  name: 'listen',
  summary:
    'Forward the deliveries of a queue to a URL on this machine, signed and retried as always. The key needs the scope `manage`.',
  reach: 'api',
  options: {
    forward: { value: 'URL', required: true, help: 'where deliveries go, such as http://localhost:3000/jobs' },
    tap: { help: 'get copies of deliveries, which go to the webhook as before; the answers to copies are ignored' },
    once: { help: 'exit after the first delivery, with code 1 unless the answer is a 2xx' },
    force: { help: 'take the deliveries of a queue that is marked as production' },
    'print-secret': {
      help: 'sign with a secret of this machine in place of the queue’s own, the same at each start, and print it',
    },
    json: { help: 'print one JSON object for each event' },
  },
  argument: QUEUE_ARGUMENT,
  isService: true,
  run: async ({ argument, options }, environment) => {
    const forward = urlOf(options.forward, '--forward');
    const listening = listen({
      ...(await apiAddress(environment)),
      queue: argument,
      forward,
      isTap: options.tap,
      isOnce: options.once,
      isForced: options.force,
      hasOwnSecret: options['print-secret'],
      print: options.json ? JSON_PRINT : plainPrint(forward, options.tap),
    });
    stopOnSignal(Promise.resolve(listening), createLog({ level: 'error' }));
    const { hasSucceeded } = await listening.done;
    process.exitCode = options.once && !hasSucceeded ? 1 : 0;
    return null;
  },
});

function plainPrint(forward: URL, isTap: boolean): ListenPrint {
  return {
    ready: ({ queue, secret }) => {
      const what = isTap ? 'Copies of deliveries' : 'Deliveries';
      console.log(`${what} of ${queue.name} go to ${forward.href}${isTap ? '' : `, and not to ${queue.webhookUrl}`}`);
      if (secret !== null) console.log(`JOBFERRY_SECRET=${secret}`);
    },
    attempt: (attempt) => console.log(attemptLine(attempt, attempt.queue.length)),
    note: (_event, sentence) => console.log(printable(sentence)),
  };
}

const JSON_PRINT: ListenPrint = {
  ready: ({ queue, secret }) => printJson({ type: 'ready', queue, secret }),
  attempt: ({ accountId: _, ...attempt }) => printJson({ type: 'attempt', ...attempt }),
  note: (event, message) => printJson({ ...event, message }),
};

function printJson(event: object): void {
  console.log(jsonOf(event));
}
