import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/compat';
import { number } from '../../../query/words/format.ts';
import { followAction } from '../../api/followed-actions.ts';
import type { Outcome } from '../../api/outcome.ts';
import { Note } from '../note.tsx';

type Started = Outcome<{ matched: number; action: { id: string } | null }>;

interface PricedAction {
  /** How many it is about; null while it is counted. */
  matched: number | null;
  /** The number before, if it has changed since it was shown. */
  changedFrom: number | null;
  failure: string | null;
  isBusy: boolean;
  run: () => void;
}

/**
 * A bulk action with its price before it. The number that is shown is what will be done: it is counted again before the
 * action, and if it has changed, one has to look again.
 */
export function usePricedAction({
  key,
  ask,
  onStarted,
}: {
  /** Stands for `ask`. */
  key: unknown;
  /** With `dryRun` it only counts. */
  ask: (dryRun: boolean) => Promise<Started>;
  onStarted: (actionId: string) => void;
}): PricedAction {
  const [isBusy, setBusy] = useState(false);
  const [changedFrom, setChangedFrom] = useState<number | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const price = useQuery({
    queryKey: ['Price', key],
    queryFn: () => ask(true),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnMount: false,
  });
  const counted = price.data;
  const matched = counted?.ok === true ? counted.value.matched : null;

  const start = async () => {
    const again = await ask(true);
    if (!again.ok) return setRefusal(again.message);
    if (again.value.matched !== matched) {
      setChangedFrom(matched);
      await price.refetch();
      return;
    }
    const started = await ask(false);
    if (!started.ok) return setRefusal(started.message);
    const id = started.value.action?.id;
    if (id === undefined) return;
    followAction(id);
    onStarted(id);
  };
  const run = () => {
    if (isBusy) return;
    setBusy(true);
    setRefusal(null);
    start()
      .catch((error: Error) => setRefusal(error.message))
      .finally(() => setBusy(false));
  };
  const failure = refusal ?? (counted?.ok === false ? counted.message : (price.error?.message ?? null));
  return { matched, changedFrom, failure, isBusy, run };
}

/** The problems, shown within the dialog: a toast would be below it. */
export function ActionNotes({
  priced: { matched, changedFrom, failure },
  refused,
  before = 'you go on',
}: {
  priced: PricedAction;
  refused: string;
  before?: string;
}) {
  return (
    <>
      {changedFrom !== null && matched !== null && (
        <Note signal="warn" icon="failing">
          <b>The number has changed</b> from {number(changedFrom)} to {number(matched)}. Check it before {before}.
        </Note>
      )}
      {failure !== null && (
        <Note signal="bad" icon="failed">
          <span role="alert">
            <b>{refused}.</b> {failure}
          </span>
        </Note>
      )}
    </>
  );
}
