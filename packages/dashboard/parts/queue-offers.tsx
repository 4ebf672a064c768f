import { useQuery } from '@tanstack/preact-query';
import { QueueOfName } from '../api/operations/shell.ts';
import { query } from '../api/query.ts';
import { useSettled } from '../base/use-settled.ts';
import { useFoundQueues } from './found-queues.tsx';

/**
 * Queues that a text may name, for an input whose `list` is this id.
 * Below the input: that there is no queue of this name.
 * @param before what stands before the name in the input
 */
export function QueueOffers({ id, text, before = '' }: { id: string; text: string; before?: string }) {
  const name = useSettled(text);
  const { queues, isFetching } = useFoundQueues(name);
  const result = useQuery({ ...query(QueueOfName, { name }), enabled: name !== '' });
  const [meant] = queues;
  return (
    <>
      <datalist id={id}>
        {queues.map((queue) => (
          <option key={queue.name} value={before + queue.name} />
        ))}
      </datalist>
      {result.data?.queue === null && !isFetching && (
        <small className="worry" role="status">
          There is no queue {name}
          {meant === undefined ? '.' : `. Did you mean ${meant.name}?`}
        </small>
      )}
    </>
  );
}
