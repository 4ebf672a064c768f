import { type ReactNode, useState } from 'preact/compat';
import { useUniqueId } from '../../../base/use-unique-id.ts';
import { Dialog, type DialogAction } from '../../../parts/dialog.tsx';

/** A question that is answered by typing the name of the queue. */
export function NamedDialog({
  title,
  lead,
  name,
  label,
  isDisabled = false,
  run,
  onClose,
  children,
}: {
  title: string;
  lead: string;
  name: string;
  label: string;
  isDisabled?: boolean;
  run: DialogAction['run'];
  onClose: () => void;
  children: ReactNode;
}) {
  const id = useUniqueId();
  const [text, setText] = useState('');
  return (
    <Dialog
      title={title}
      lead={lead}
      action={{ label, run, isDanger: true, isDisabled: isDisabled || text.trim() !== name }}
      onClose={onClose}
    >
      {children}
      <div className="field">
        <label htmlFor={id}>
          To go on, type <span className="mono">{name}</span>
        </label>
        <input
          id={id}
          className="input mono"
          value={text}
          autoComplete="off"
          spellcheck={false}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </div>
    </Dialog>
  );
}
