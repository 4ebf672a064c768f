import { useState } from 'preact/compat';
import { changeQueue } from '../../../api/change-queue.ts';
import { request } from '../../../api/client.ts';
import { outcomeOf } from '../../../api/outcome.ts';
import { May } from '../../../api/rights.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { ShownOnce, ToCopy } from '../../../parts/shown-once.tsx';
import { Time } from '../../../parts/time.tsx';
import { toast } from '../../../parts/toast.tsx';
import { FinishRotation, type QueueOfSettings, RotateSecret } from '../operations/queue-settings.ts';
import { DangerRow, useLinked } from './danger-row.tsx';

interface Fresh {
  secret: string;
  takesOverAt: string;
}

/** Rotates the signing secret. The new one is shown once, and leaves the page when it is closed. */
export function Secret({ queue, onChanged }: { queue: QueueOfSettings; onChanged: () => void }) {
  const { id, name, signingSecretRotatesAt: rotatesAt } = queue;
  const isLinked = useLinked('secret');
  const [asking, setAsking] = useState<'rotate' | 'finish' | null>(rotatesAt === null && isLinked ? 'rotate' : null);
  const [fresh, setFresh] = useState<Fresh | null>(null);
  const close = () => setAsking(null);
  const rotate = async (overlap: number) => {
    const outcome = await changeQueue(async () =>
      outcomeOf((await request(RotateSecret, { id, overlap })).rotateSigningSecret),
    );
    if (!outcome.ok) return `Signing secret of ${name} not rotated: ${outcome.message}`;
    close();
    setFresh({ secret: outcome.value.signingSecret, takesOverAt: outcome.value.takesOverAt });
    onChanged();
    return null;
  };
  const finish = async () => {
    const outcome = await changeQueue(async () =>
      outcomeOf((await request(FinishRotation, { id })).finishSecretRotation),
    );
    onChanged();
    if (!outcome.ok) return `Rotation of ${name} not ended: ${outcome.message}`;
    close();
    toast({ text: `Only the new signing secret of ${name} signs now`, icon: 'key' });
    return null;
  };
  return (
    <>
      <DangerRow
        id="secret"
        title="Signing secret"
        action={
          rotatesAt === null ? (
            <button type="button" className="btn" onClick={() => setAsking('rotate')}>
              Rotate…
            </button>
          ) : (
            <May mutation="finishSecretRotation">
              <button type="button" className="btn" onClick={() => setAsking('finish')}>
                Finish rotation…
              </button>
            </May>
          )
        }
      >
        {rotatesAt === null ? (
          'Signs each delivery, so that the receiver can verify the sender. It cannot be shown again.'
        ) : (
          <>
            Both secrets sign until <Time at={rotatesAt} />, the new one in a second header. Then the new one signs
            alone.
          </>
        )}
      </DangerRow>
      {fresh !== null && <FreshSecret name={name} fresh={fresh} onClose={() => setFresh(null)} />}
      {asking === 'rotate' && <RotateDialog name={name} onRotate={rotate} onClose={close} />}
      {asking === 'finish' && (
        <Dialog
          title={`Let the new secret of ${name} take over now?`}
          lead="The old secret stops immediately. A receiver that knows only the old one rejects every delivery."
          action={{ label: 'Finish rotation', run: finish }}
          onClose={close}
        />
      )}
    </>
  );
}

const OVERLAPS = [
  { seconds: 86_400, label: '24 h', note: 'Both secrets sign. Update the receiver within a day.' },
  { seconds: 604_800, label: '7 days', note: 'Both secrets sign, for the longest possible time.' },
  { seconds: 3600, label: '1 h', note: 'Both secrets sign.' },
  { seconds: 0, label: 'None', note: 'The old secret stops immediately. Choose this if it has leaked.' },
] as const;

function RotateDialog({
  name,
  onRotate,
  onClose,
}: {
  name: string;
  onRotate: (overlap: number) => Promise<string | null>;
  onClose: () => void;
}) {
  const [overlap, setOverlap] = useState<number>(OVERLAPS[0].seconds);
  return (
    <Dialog
      title={`Rotate the signing secret of ${name}?`}
      lead="The new secret is shown once. No delivery is lost while both sign."
      action={{ label: 'Rotate', isDanger: overlap === 0, run: () => onRotate(overlap) }}
      onClose={onClose}
    >
      <fieldset className="stack overlaps">
        <legend className="label">Overlap</legend>
        {OVERLAPS.map(({ seconds, label, note }) => (
          <label key={seconds} className="choice">
            <input type="radio" name="overlap" checked={overlap === seconds} onChange={() => setOverlap(seconds)} />
            <span>
              {label}
              <small>{note}</small>
            </span>
          </label>
        ))}
      </fieldset>
    </Dialog>
  );
}

function FreshSecret({
  name,
  fresh: { secret, takesOverAt },
  onClose,
}: {
  name: string;
  fresh: Fresh;
  onClose: () => void;
}) {
  return (
    <ShownOnce
      title="The new secret is ready. Copy it now: it is shown only this once."
      lost={{ what: `the new secret of ${name}`, without: 'the queue needs another rotation' }}
      onClose={onClose}
    >
      <ToCopy text={secret} what="Signing secret" />
      <p className="small q">
        Configure it in the receiver before <Time at={takesOverAt} />.
      </p>
    </ShownOnce>
  );
}
