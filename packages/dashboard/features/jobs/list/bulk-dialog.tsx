import type { JobFilter } from '../../../../query/filter/jobs.ts';
import { type Count, NONE } from '../../../../query/words/format.ts';
import { request } from '../../../api/client.ts';
import { outcomeOf } from '../../../api/outcome.ts';
import { ActionNotes, usePricedAction } from '../../../parts/bulk/priced-action.tsx';
import { Dialog, Price } from '../../../parts/dialog.tsx';
import { chosenJobs, leftOutOf, matchedJobs, matchedText } from '../../../words/matched.ts';
import { BUTTONS } from '../model/bulk.ts';
import { BULK } from '../model/bulk-price.ts';
import { CancelJobs, RunJobs } from '../operations/bulk.ts';

export interface BulkSelection {
  /** With times as of the question, so that the price and the action are of the same jobs. */
  filter: JobFilter;
  /** Whether the filter is empty, and meant to be. */
  all: boolean;
  chosen: Count;
}

/** Asks before many jobs are cancelled or made due. The number is that of a dry run; the action starts an action. */
export default function BulkDialog({
  action,
  selection: { filter, all, chosen },
  onStarted,
  onClose,
}: {
  action: 'run' | 'cancel';
  selection: BulkSelection;
  onStarted: (actionId: string) => void;
  onClose: () => void;
}) {
  const words = BULK[action];
  const priced = usePricedAction({
    key: [action, filter],
    ask: async (dryRun) => {
      const variables = { filter, all, dryRun };
      return action === 'run'
        ? outcomeOf((await request(RunJobs, variables)).runJobsNow)
        : outcomeOf((await request(CancelJobs, variables)).cancelJobs);
    },
    onStarted,
  });
  const { matched } = priced;
  const isPossible = matched !== null && matched > 0;
  return (
    <Dialog
      title={words.question(matched === null ? chosenJobs(chosen) : matchedJobs(matched))}
      lead={words.lead}
      action={{
        label: BUTTONS[action].label(matched === null ? 'them' : matchedText(matched)),
        isDanger: words.isDanger,
        ...(action === 'cancel' && { keep: matched === 1 ? 'Keep it' : 'Keep them' }),
        isDisabled: !isPossible || priced.isBusy,
        run: priced.run,
      }}
      onClose={onClose}
    >
      <Price
        figures={[
          [matched === null ? '…' : matchedText(matched), words.figures[0]],
          [matched === null ? NONE : leftOutOf(chosen, matched), words.figures[1]],
          words.third,
        ]}
      />
      <ActionNotes priced={priced} refused={words.refused} />
    </Dialog>
  );
}
