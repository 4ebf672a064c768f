import { Note } from '../../parts/note.tsx';
import { AskBeforeLoss } from '../../parts/shown-once.tsx';
import { secretCommand } from './model/first-run.ts';
import { Term } from './term.tsx';

/** The signing secret, once. Hidden, it is nowhere in the page any more. */
export function Secret({ secret, isHidden, onHide }: { secret: string; isHidden: boolean; onHide: () => void }) {
  if (isHidden) {
    return <p className="small q">The signing secret cannot be shown again. If you lose it, rotate it.</p>;
  }
  return (
    <>
      <Note
        signal="warn"
        icon="key"
        action={
          <button type="button" className="btn tiny" onClick={onHide}>
            Hide it
          </button>
        }
      >
        <b>The signing secret is shown only this once.</b> Store it where your receiver reads it.
      </Note>
      <Term text={secretCommand(secret)} what="Signing secret" isSecret />
      <AskBeforeLoss what="the signing secret" without="the queue needs a rotation" />
    </>
  );
}
