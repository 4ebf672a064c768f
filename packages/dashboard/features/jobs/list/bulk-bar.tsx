import '../../../parts/bulk/bulk-bar.css';
import { type ReactNode, useState } from 'preact/compat';
import { useLocation } from 'wouter-preact';
import type { JobsFilter } from '../../../../query/filter/jobs.ts';
import type { JobRow } from '../../../../query/schema/fragments.ts';
import { type Count, count, many, number } from '../../../../query/words/format.ts';
import { type Mutation, may } from '../../../../query/words/rights.ts';
import { useMay, useRights } from '../../../api/rights.ts';
import { copy } from '../../../parts/copy.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import { late } from '../../../parts/page/late.tsx';
import { toast } from '../../../parts/toast.tsx';
import type { Ticks } from '../../../parts/use-ticks.ts';
import { appliesTo, BUTTONS, JOBS_ACTIONS, type JobsAction, jobsOfAction } from '../model/bulk.ts';
import type { ByState } from '../model/jobs-sentence.ts';
import type { BulkSelection } from './bulk-dialog.tsx';
import { jobFilterOf, type ListUrl } from './list-url.ts';

const BulkDialog = late(() => import('./bulk-dialog.tsx'));
const ReplayDialog = late(() => import('../../../parts/bulk/replay-dialog.tsx'));

const NEEDS: Readonly<Record<JobsAction, { mutation: Mutation }>> = {
  run: { mutation: 'runJobsNow' },
  replay: { mutation: 'replayDeadLetters' },
  cancel: { mutation: 'cancelJobs' },
};

interface Props {
  ticks: Ticks;
  rows: readonly JobRow[];
  all: Count | null;
  byState: ByState | null;
  filter: JobsFilter;
  url: ListUrl;
}

/** The actions on the ticked jobs, or on all that match. */
export function BulkBar(props: Props) {
  const { ticks } = props;
  if (ticks.isAll) return <AllBar {...props} />;
  return ticks.ids.size === 0 ? null : <TickedBar {...props} />;
}

function TickedBar({ ticks, rows, all }: Props) {
  const canTickAll = useMay('cancelJobs');
  const ticked = rows.filter(({ id }) => ticks.ids.has(id));
  const total = all === null ? '' : count(all.count, all.exact);
  const actions = JOBS_ACTIONS.flatMap((action) => {
    const jobs = ticked.filter((job) => appliesTo(action, job)).length;
    return jobs === 0 ? [] : [{ action, jobs: number(jobs) }];
  });
  return (
    <Bar
      ticks={ticks}
      actions={actions}
      selectionOf={() => ({
        filter: { ids: ticked.map(({ id }) => id) },
        all: false,
        chosen: { count: ticked.length, exact: true },
      })}
      start={
        <>
          <span>
            <b>{number(ticked.length)} selected.</b> Rows stay in place.
          </span>
          {canTickAll && all !== null && all.count > ticked.length && (
            <button type="button" className="btn quiet tiny accent" onClick={ticks.tickAll}>
              Select all {total} matches
            </button>
          )}
        </>
      }
    >
      <button
        type="button"
        className="btn tiny"
        onClick={() => void copy(ticked.map(({ id }) => id).join('\n'), many(ticked.length, 'id'))}
      >
        Copy ids
      </button>
    </Bar>
  );
}

function AllBar({ ticks, all, byState, filter, url }: Props) {
  const total = all === null ? '' : count(all.count, all.exact);
  // Without the counts, as of more than 10 000 jobs, the price will tell.
  const actions = JOBS_ACTIONS.filter((action) => byState === null || jobsOfAction(action, byState) > 0);
  return (
    <Bar
      ticks={ticks}
      actions={actions.map((action) => ({ action, jobs: 'all' }))}
      selectionOf={() => ({
        filter: jobFilterOf(filter, url),
        all: filter.length === 0 && url.from === null,
        chosen: all ?? { count: 0, exact: false },
      })}
      start={
        <span>
          <b>All {total} matches are selected,</b> on every page.
        </span>
      }
    />
  );
}

function Bar({
  ticks,
  actions,
  selectionOf,
  start,
  children,
}: {
  ticks: Ticks;
  actions: readonly { action: JobsAction; jobs: string }[];
  selectionOf: () => BulkSelection;
  start: ReactNode;
  children?: ReactNode;
}) {
  const [question, setQuestion] = useState<{ action: JobsAction; selection: BulkSelection } | null>(null);
  const [, navigate] = useLocation();
  const ask = (action: JobsAction) => setQuestion({ action, selection: selectionOf() });
  const rights = useRights();
  const allowed = actions.filter(({ action }) => may(rights, NEEDS[action].mutation));
  const buttons = allowed.map(({ action, jobs }) => {
    const { icon, key, label } = BUTTONS[action];
    return { action, icon, key, label: `${label(jobs)}…` };
  });
  useCommands(buttons.map(({ action, icon, key, label }) => ({ key, label, icon, run: () => ask(action) })));
  const props = {
    onClose: () => setQuestion(null),
    onStarted: (id: string) => {
      // A few rows are watched here; how it goes with many is on the page of the action.
      if (ticks.isAll) navigate(`/actions/${id}`);
      else toast({ text: `Started for ${many(ticks.ids.size, 'job')}`, icon: 'actions' });
      setQuestion(null);
      ticks.clear();
    },
  };
  return (
    <div className="bulk">
      {start}
      <span className="end">
        {buttons.map(({ action, icon, label }) => (
          <button key={action} type="button" className="btn tiny" onClick={() => ask(action)}>
            <Icon name={icon} />
            {label}
          </button>
        ))}
        {children}
        <button type="button" className="btn quiet icon tiny" aria-label="Clear selection" onClick={ticks.clear}>
          <Icon name="x" />
        </button>
      </span>

      {question?.action === 'replay' && (
        <ReplayDialog
          target={{
            queue: null,
            filter: null,
            receivers: null,
            jobs: question.selection.filter,
            chosen: question.selection.chosen,
            lead: 'All selected dead jobs that were not replayed.',
          }}
          {...props}
        />
      )}
      {question !== null && question.action !== 'replay' && (
        <BulkDialog action={question.action} selection={question.selection} {...props} />
      )}
    </div>
  );
}
