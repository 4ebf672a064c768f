import { waitingJobs } from '../../../../../src/domain/queue-condition.ts';
import { NONE, number } from '../../../../query/words/format.ts';
import { request } from '../../../api/client.ts';
import { outcomeOf } from '../../../api/outcome.ts';
import { ActionNotes, usePricedAction } from '../../../parts/bulk/priced-action.tsx';
import { Price } from '../../../parts/dialog.tsx';
import { matchedJobs, matchedText } from '../../../words/matched.ts';
import { openJobs } from '../model/queue-condition.ts';
import { Purge, type QueueOfSettings } from '../operations/queue-settings.ts';
import { NamedDialog } from './named-dialog.tsx';

/** Asks before a queue is purged: the number is that of a dry run, and the name of the queue has to be typed. */
export default function PurgeDialog({
  queue,
  onStarted,
  onClose,
}: {
  queue: QueueOfSettings;
  onStarted: (actionId: string) => void;
  onClose: () => void;
}) {
  const { id, name, depth } = queue;
  const priced = usePricedAction({
    key: ['purge', id],
    ask: async (dryRun) => outcomeOf((await request(Purge, { id, dryRun })).purgeQueue),
    onStarted,
  });
  const { matched } = priced;
  return (
    <NamedDialog
      name={name}
      title={
        matched === null
          ? `Cancel all waiting jobs in ${name}?`
          : matched === 0
            ? `No job is waiting in ${name}`
            : `Cancel ${matchedJobs(matched, 'waiting job')} in ${name}?`
      }
      lead="A cancelled job leaves no dead letter, so it cannot be replayed."
      label={matched === null ? `Purge ${name}` : `Purge ${matchedJobs(matched)} in ${name}`}
      isDisabled={priced.isBusy || !matched}
      run={priced.run}
      onClose={onClose}
    >
      <Price
        figures={[
          [matched === null ? '…' : matchedText(matched), 'will be cancelled'],
          [number(openJobs(queue) - waitingJobs(queue)), 'in flight continue'],
          [depth === null ? NONE : number(depth.scheduled), 'of them are scheduled'],
        ]}
      />
      <ActionNotes priced={priced} refused={`${name} is not purged`} />
    </NamedDialog>
  );
}
