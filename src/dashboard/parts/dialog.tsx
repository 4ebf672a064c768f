import { type FormEvent, type ReactNode, useId, useRef } from 'react';
import { useModal } from './use-modal.ts';

const FIRST_FIELD = 'input.input, textarea';

/**
 * A question before a deed. The title is the question with its number; then come the price, what is at stake, choices,
 * and the deed. `Esc` closes, ⌘Enter does it, and focus goes back to where it was.
 */
export function Dialog({
  title,
  lead,
  children,
  deed,
  onClose,
}: {
  title: string;
  lead?: ReactNode;
  children?: ReactNode;
  deed: { label: string; run: () => void; isDanger?: boolean; isDisabled?: boolean; start?: ReactNode };
  onClose: () => void;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const cancel = useRef<HTMLButtonElement>(null);
  const id = useId();
  // Text to type comes first, else the least harmful button.
  useModal(ref, (dialog) => dialog.querySelector<HTMLElement>(FIRST_FIELD) ?? cancel.current);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (deed.isDisabled !== true) deed.run();
  };
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) submit(event);
      }}
    >
      <form onSubmit={submit}>
        <div className="top">
          <h2 id={id}>{title}</h2>
          {lead !== undefined && <p className="q">{lead}</p>}
        </div>
        <div className="in">{children}</div>
        <div className="bottom">
          {deed.start !== undefined && <span className="start">{deed.start}</span>}
          <button ref={cancel} type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className={deed.isDanger === true ? 'btn danger' : 'btn primary'}
            aria-disabled={deed.isDisabled === true}
          >
            {deed.label}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** What a deed costs: figures with their labels, three at most. */
export function Price({ figures }: { figures: readonly (readonly [figure: ReactNode, label: string])[] }) {
  return (
    <dl className="price">
      {figures.map(([figure, label]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{figure}</dd>
        </div>
      ))}
    </dl>
  );
}
