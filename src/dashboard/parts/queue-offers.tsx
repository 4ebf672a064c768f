import { useSettled } from '../base/use-settled.ts';
import { useFoundQueues } from './found-queues.tsx';

/** Queues that a text may name, for an input whose `list` is this id. */
export function QueueOffers({ id, text }: { id: string; text: string }) {
  return (
    <datalist id={id}>
      {useFoundQueues(useSettled(text)).queues.map(({ name }) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
