import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { request } from '../../graphql/client.ts';
import { RequestError } from '../../graphql/errors.ts';
import { CancelAll, CancelPrice } from '../../graphql/operations/jobs.ts';
import { outcomeOf } from '../../graphql/outcome.ts';
import type { Filter } from '../../model/filter/chips.ts';
import { many, number } from '../../model/format.ts';
import { Dialog, Price } from '../../parts/dialog.tsx';
import { Note } from '../../parts/note.tsx';
import { toast, toastFailure } from '../../parts/toast.tsx';
import { jobFilterOf, type ListUrl } from './list-url.ts';

/** Asks before all matching jobs are cancelled. The number is that of a dry run, and the deed starts an action. */
export function CancelAllDialog({
  filter,
  url,
  onClose,
  onDone,
}: {
  filter: Filter;
  url: ListUrl;
  onClose: () => void;
  onDone: () => void;
}) {
  const [, navigate] = useLocation();
  const [isBusy, setBusy] = useState(false);
  // The same filter for the price and for the deed: a relative time must not move in between.
  const [selection] = useState(() => ({
    filter: jobFilterOf(filter, url),
    all: filter.length === 0 && url.from === null,
  }));
  const price = useQuery({
    queryKey: ['CancelPrice', selection],
    queryFn: async () => {
      const outcome = outcomeOf((await request(CancelPrice, selection)).cancelJobs);
      if (!outcome.ok) throw new RequestError('refused', outcome.message, { at: 0 });
      return outcome.value.matched;
    },
    gcTime: 0,
  });

  const run = async () => {
    setBusy(true);
    try {
      const outcome = outcomeOf((await request(CancelAll, selection)).cancelJobs);
      if (outcome.ok) {
        const { action, matched } = outcome.value;
        toast({ text: `${many(matched, 'job is', 'jobs are')} being cancelled` });
        onDone();
        if (action !== null) navigate(`/actions/${action.id}`);
        return;
      }
      toastFailure(`Not cancelled: ${outcome.message}`);
    } catch (error) {
      toastFailure(`Not cancelled: ${(error as RequestError).message}`);
    }
    setBusy(false);
  };

  const matched = price.data;
  const isPossible = matched !== undefined && matched > 0 && !isBusy;
  return (
    <Dialog
      title={matched === undefined ? 'Cancel all jobs that match?' : `Cancel ${many(matched, 'job')}?`}
      lead="Only jobs that are pending or awaiting an ack can be cancelled."
      deed={{
        label: matched === undefined ? 'Cancel them' : `Cancel ${number(matched)}`,
        isDanger: true,
        isDisabled: !isPossible,
        run: () => void run(),
      }}
      onClose={onClose}
    >
      <Price
        figures={[
          [matched === undefined ? '…' : number(matched), 'jobs die'],
          ['0', 'dead letters are left'],
          ['no', 'way back'],
        ]}
      />
      {price.error !== null && (
        <Note signal="bad" icon="failing">
          {price.error.message}
        </Note>
      )}
    </Dialog>
  );
}
