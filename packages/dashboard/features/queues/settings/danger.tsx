import { type ReactNode, useState } from 'preact/compat';
import { useLocation } from 'wouter-preact';
import { waitingJobs } from '../../../../../src/domain/queue-condition.ts';
import { count, many, number } from '../../../../query/words/format.ts';
import { may } from '../../../../query/words/rights.ts';
import { changeQueue } from '../../../api/change-queue.ts';
import { request } from '../../../api/client.ts';
import { type Outcome, outcomeOf } from '../../../api/outcome.ts';
import { useRights } from '../../../api/rights.ts';
import { leaveFreely } from '../../../base/leave.ts';
import { Dialog, Price } from '../../../parts/dialog.tsx';
import { late } from '../../../parts/page/late.tsx';
import { toast, toastFailure } from '../../../parts/toast.tsx';
import { openJobs } from '../model/queue-condition.ts';
import {
  DeleteQueue,
  Encrypt,
  MarkProduction,
  type QueueOfSettings,
  SetStandardWebhooks,
} from '../operations/queue-settings.ts';
import { Breaker } from './breaker.tsx';
import { DangerRow, useLinked } from './danger-row.tsx';
import { NamedDialog } from './named-dialog.tsx';
import { Secret } from './secret.tsx';

const PurgeDialog = late(() => import('./purge-dialog.tsx'));

interface Props {
  queue: QueueOfSettings;
  onChanged: () => void;
  /** The queue is left for good, so what was typed is forgotten. */
  onGone: () => void;
}

/** The actions that apply immediately, and not with the form: secret, encryption, headers, purge, delete. */
export function Danger(props: Props) {
  const rights = useRights();
  if (!may(rights, 'purgeQueue')) return null;
  return (
    <section className="dangers" aria-labelledby="dangers">
      <h2 id="dangers" className="sr">
        Secret, encryption, headers, purge and delete
      </h2>
      {may(rights, 'rotateSigningSecret') && <Secret queue={props.queue} onChanged={props.onChanged} />}
      {may(rights, 'setPayloadEncryption') && <Encryption {...props} />}
      {may(rights, 'setStandardWebhooks') && <StandardWebhooks {...props} />}
      {may(rights, 'setBreaker') && <Breaker {...props} />}
      {may(rights, 'markProduction') && <Production {...props} />}
      <PurgeRow {...props} />
      {may(rights, 'deleteQueue') && <DeleteRow {...props} />}
    </section>
  );
}

/** Runs an action of a dialog, and closes the dialog. Resolves to the reason if it was refused. */
async function action<Value extends object>(
  run: () => Promise<Outcome<Value>>,
  { failed, close, onDone }: { failed: string; close: () => void; onDone: (value: Value) => void },
): Promise<string | null> {
  const outcome = await changeQueue(run);
  if (!outcome.ok) return `${failed}: ${outcome.message}`;
  close();
  onDone(outcome.value);
  return null;
}

function Encryption({ queue: { id, name, payloadsEncrypted: isOn }, onChanged }: Props) {
  const [isAsking, setAsking] = useState(useLinked('encryption'));
  const close = () => setAsking(false);
  const run = () =>
    action(async () => outcomeOf((await request(Encrypt, { id, on: !isOn })).setPayloadEncryption), {
      failed: `Encryption of ${name} not changed`,
      close,
      onDone: () => {
        toast({ text: isOn ? `${name}: new payloads are not encrypted` : `${name}: new payloads are encrypted` });
        onChanged();
      },
    });
  return (
    <DangerRow
      id="encryption"
      title={isOn ? 'Payloads are encrypted' : 'Payloads are not encrypted'}
      action={
        <button type="button" className="btn" onClick={() => setAsking(true)}>
          {isOn ? 'Stop encrypting…' : 'Encrypt…'}
        </button>
      }
      dialog={
        isAsking && (
          <Dialog
            title={isOn ? `Stop encrypting the payloads of ${name}?` : `Encrypt the payloads of ${name}?`}
            lead="Applies to jobs published from now on; existing jobs stay as they are."
            action={{ label: isOn ? 'Stop encrypting' : 'Encrypt', run }}
            onClose={close}
          >
            <p>
              {isOn
                ? 'New payloads can be searched again.'
                : 'New jobs are delivered as before, but cannot be found by a value of their payload.'}
            </p>
          </Dialog>
        )
      }
    >
      {isOn
        ? 'They cannot be read in the database or searched.'
        : 'Encrypted payloads and the answers to them cannot be read in the database or searched.'}
    </DangerRow>
  );
}

function StandardWebhooks({ queue: { id, standardWebhooks: isOn }, onChanged }: Props) {
  return (
    <SwitchRow
      id="standard-webhooks"
      title={`Standard Webhooks headers are ${isOn ? 'on' : 'off'}`}
      button={isOn ? 'Switch off' : 'Switch on'}
      run={async () => outcomeOf((await request(SetStandardWebhooks, { id, on: !isOn })).setStandardWebhooks)}
      onChanged={onChanged}
    >
      Deliveries then also have webhook-id, webhook-timestamp and webhook-signature, for receivers that verify them with
      a library of the standard.
    </SwitchRow>
  );
}

function Production({ queue: { id, production: isOn }, onChanged }: Props) {
  return (
    <SwitchRow
      id="production"
      title={isOn ? 'Marked as production' : 'Not marked as production'}
      button={isOn ? 'Remove the mark' : 'Mark'}
      run={async () => outcomeOf((await request(MarkProduction, { id, on: !isOn })).markProduction)}
      onChanged={onChanged}
    >
      jobferry listen redirects deliveries of a marked queue to another machine only with --force.
    </SwitchRow>
  );
}

/** There is no question before it, as it can be undone. */
function SwitchRow({
  id,
  title,
  button,
  run,
  onChanged,
  children,
}: {
  id: string;
  title: string;
  button: string;
  run: Parameters<typeof changeQueue>[0];
  onChanged: () => void;
  children: ReactNode;
}) {
  const change = async () => {
    const outcome = await changeQueue(run);
    if (!outcome.ok) return toastFailure(`Not changed: ${outcome.message}`);
    toast({ text: 'Changed' });
    onChanged();
  };
  return (
    <DangerRow
      id={id}
      title={title}
      action={
        <button type="button" className="btn" onClick={change}>
          {button}
        </button>
      }
    >
      {children}
    </DangerRow>
  );
}

/** An action that cannot be undone: the name of the queue has to be typed. */
function NamedRow({
  id,
  verb,
  dialog,
  children,
}: {
  id: string;
  verb: string;
  dialog: (close: () => void) => ReactNode;
  children: ReactNode;
}) {
  const [isAsking, setAsking] = useState(useLinked(id));
  return (
    <DangerRow
      id={id}
      title={verb}
      action={
        <button type="button" className="btn danger" onClick={() => setAsking(true)}>
          {verb}…
        </button>
      }
      dialog={isAsking && dialog(() => setAsking(false))}
    >
      {children}
    </DangerRow>
  );
}

function PurgeRow({ queue, onGone }: Props) {
  const [, navigate] = useLocation();
  const onStarted = (actionId: string) => {
    onGone();
    leaveFreely(() => navigate(`/actions/${actionId}`));
  };
  return (
    <NamedRow
      id="purge"
      verb="Purge"
      dialog={(close) => <PurgeDialog queue={queue} onStarted={onStarted} onClose={close} />}
    >
      Cancels every waiting job: {many(waitingJobs(queue), 'job')} now. The queue stays.
    </NamedRow>
  );
}

function DeleteRow({ queue, onGone }: Props) {
  const { id, name, deadLetters } = queue;
  const [, navigate] = useLocation();
  const waiting = waitingJobs(queue);
  const inFlight = openJobs(queue) - waiting;
  const run = (close: () => void) =>
    action(async () => outcomeOf((await request(DeleteQueue, { id })).deleteQueue), {
      failed: `${name} not deleted`,
      close,
      onDone: () => {
        onGone();
        toast({ text: `${name} is deleted`, icon: 'deleted' });
        leaveFreely(() => navigate('/queues', { replace: true }));
      },
    });
  return (
    <NamedRow
      id="delete"
      verb="Delete"
      dialog={(close) => (
        <NamedDialog
          name={name}
          title={`Delete the queue ${name}?`}
          lead="Publishing to it will be refused. This cannot be undone."
          label={`Delete ${name}`}
          run={() => run(close)}
          onClose={close}
        >
          <Price
            figures={[
              [number(waiting), 'waiting jobs die'],
              [count(deadLetters.totalCount, deadLetters.totalCountExact), 'dead letters are removed'],
              [number(inFlight), 'jobs in flight'],
            ]}
          />
        </NamedDialog>
      )}
    >
      Its waiting jobs die, its dead letters are removed, and its name becomes free. Its jobs can be found by id until
      their retention ends.
    </NamedRow>
  );
}
