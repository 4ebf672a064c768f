import { type ReactNode, useState } from 'preact/compat';
import type { JobRow } from '../../../../query/schema/fragments.ts';
import { shortId } from '../../../../query/words/job-id.ts';
import { type Mutation, may } from '../../../../query/words/rights.ts';
import { request } from '../../../api/client.ts';
import type { RequestError } from '../../../api/errors.ts';
import { showChanged } from '../../../api/live/live.ts';
import { type Outcome, outcomeOf } from '../../../api/outcome.ts';
import { queryClient } from '../../../api/query.ts';
import { useRights } from '../../../api/rights.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { type Command, useCommands } from '../../../parts/page/keys.ts';
import { toast, toastFailure } from '../../../parts/toast.tsx';
import { Ack, CancelJob, Nack, ReplayOne, RunNow } from '../operations/job.ts';

type Question = 'cancel' | 'nack' | null;

/** The actions on a job in its present state: buttons, keys, and the dialogs that ask first. */
export function useJobActions(job: JobRow | undefined): { buttons: ReactNode; dialog: ReactNode } {
  const [question, setQuestion] = useState<Question>(null);
  const commands: (Command & { isPrimary?: boolean; mutation: Mutation })[] = [];
  const canReplay = job?.status === 'DEAD' && job.deadLetter !== null && job.deadLetter.replayedAt === null;
  if (job?.status === 'PENDING') {
    commands.push({ key: 'r', label: 'Run now', icon: 'play', run: () => void runNow(job), mutation: 'runNow' });
  }
  if (canReplay && job.deadLetter !== null) {
    const { id } = job.deadLetter;
    const mutation = 'replayDeadLetter';
    commands.push({
      key: 'r',
      label: 'Replay',
      icon: 'undo',
      run: () => void replay(job, id),
      isPrimary: true,
      mutation,
    });
  }
  if (job?.status === 'AWAITING_ACK') {
    commands.push({ label: 'Report success', icon: 'check', run: () => void ack(job), mutation: 'ackJob' });
    commands.push({ label: 'Report failure…', icon: 'nacked', run: () => setQuestion('nack'), mutation: 'nackJob' });
  }
  if (job?.status === 'PENDING' || job?.status === 'AWAITING_ACK') {
    commands.push({
      key: 'c',
      label: 'Cancel job…',
      icon: 'x',
      run: () => setQuestion('cancel'),
      mutation: 'cancelJob',
    });
  }
  useCommands(commands);
  const rights = useRights();
  const close = () => setQuestion(null);
  return {
    buttons: commands.flatMap(({ label, icon = 'actions', key, run, isPrimary, mutation }) =>
      may(rights, mutation) ? (
        <button key={label} type="button" className={isPrimary === true ? 'btn primary' : 'btn'} onClick={run}>
          <Icon name={icon} />
          {label}
          {key !== undefined && <kbd>{key}</kbd>}
        </button>
      ) : (
        []
      ),
    ),
    dialog: (
      <>
        {question === 'cancel' && job !== undefined && <CancelDialog job={job} onClose={close} />}
        {question === 'nack' && job !== undefined && <NackDialog job={job} onClose={close} />}
      </>
    ),
  };
}

function CancelDialog({ job, onClose }: { job: JobRow; onClose: () => void }) {
  return (
    <Dialog
      title={`Cancel job ${shortId(job.id)}?`}
      lead="It becomes dead and leaves no dead letter. This cannot be undone."
      action={{
        label: 'Cancel job',
        keep: 'Keep it',
        isDanger: true,
        run: () => {
          onClose();
          void cancel(job);
        },
      }}
      onClose={onClose}
    />
  );
}

function NackDialog({ job, onClose }: { job: JobRow; onClose: () => void }) {
  const [reason, setReason] = useState('');
  const [isRetryable, setRetryable] = useState(true);
  return (
    <Dialog
      title={`Report that job ${shortId(job.id)} failed?`}
      lead="You report in place of its worker."
      action={{
        label: 'Report failure',
        isDanger: !isRetryable,
        run: () => {
          onClose();
          void nack(job, reason, isRetryable);
        },
      }}
      onClose={onClose}
    >
      <div className="field">
        <label htmlFor="nack-reason">Reason, for the history</label>
        <input
          className="input"
          id="nack-reason"
          maxLength={1000}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      </div>
      <label className="choice">
        <input type="checkbox" checked={isRetryable} onChange={(event) => setRetryable(event.currentTarget.checked)} />
        <span>
          Retry it after its back-off
          <small>Without this, the job is dead at once.</small>
        </span>
      </label>
    </Dialog>
  );
}

async function runNow(job: JobRow): Promise<void> {
  await act(
    'Not run',
    async () => outcomeOf((await request(RunNow, { id: job.id })).runNow),
    `Job ${shortId(job.id)} is due now`,
  );
}

async function cancel(job: JobRow): Promise<void> {
  await act(
    'Not cancelled',
    async () => outcomeOf((await request(CancelJob, { id: job.id })).cancelJob),
    `Job ${shortId(job.id)} is cancelled`,
  );
}

async function ack(job: JobRow): Promise<void> {
  await act('Not reported', async () => outcomeOf((await request(Ack, { id: job.id })).ackJob), 'Success reported');
}

async function nack(job: JobRow, reason: string, retryable: boolean): Promise<void> {
  const variables = { id: job.id, reason: reason === '' ? null : reason, retryable };
  await act('Not reported', async () => outcomeOf((await request(Nack, variables)).nackJob), 'Failure reported');
}

async function replay(job: JobRow, deadLetterId: string): Promise<void> {
  await act(
    'Not replayed',
    async () => outcomeOf((await request(ReplayOne, { id: deadLetterId })).replayDeadLetter),
    `Job ${shortId(job.id)} was published again`,
  );
  for (const name of ['JobPage', 'JobBeside']) void queryClient.invalidateQueries({ queryKey: [name] });
}

let isActing = false;

/** Sends a mutation, shows its job at once, and says the outcome. One at a time: a second press changes nothing. */
async function act(failure: string, send: () => Promise<Outcome<object>>, success: string): Promise<void> {
  if (isActing) return;
  isActing = true;
  try {
    const outcome = await send();
    if (!outcome.ok) {
      toastFailure(`${failure}: ${outcome.message}`);
      return;
    }
    if ('job' in outcome.value) showChanged([outcome.value.job as object]);
    toast({ text: success });
  } catch (error) {
    toastFailure(`${failure}: ${(error as RequestError).message}`);
  } finally {
    isActing = false;
  }
}
