import { type FormEvent, type ReactNode, useRef, useState } from 'preact/compat';
import { trueText } from '../api/errors.ts';
import { useUniqueId } from '../base/use-unique-id.ts';
import { Note } from './note.tsx';
import { useModal } from './use-modal.ts';

const FIRST_FIELD = 'input.input, textarea';

export interface DialogAction {
  label: string;
  /**
   * A promise is waited for: meanwhile the action cannot be done again. A text that it resolves to, or the message of
   * its error, says why it was not done, in the dialog, which stays open.
   */
  run: (() => void) | (() => Promise<string | null>);
  isDanger?: boolean;
  isDisabled?: boolean;
  start?: ReactNode;
  /** The button that does nothing, where the action itself is a cancel. */
  keep?: string;
}

/**
 * A question before an action. The title is the question with its number; then come the price, what is at stake,
 * choices, and the action. `Esc` closes unless it is being done, ⌘Enter does it, and focus goes back to where it was.
 */
export function Dialog({
  title,
  lead,
  children,
  action,
  onClose,
}: {
  title: string;
  lead?: ReactNode;
  children?: ReactNode;
  /** Null if nothing is left to do. */
  action: DialogAction | null;
  onClose: () => void;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const cancel = useRef<HTMLButtonElement>(null);
  const id = useUniqueId();
  // Text to type comes first, else the least harmful button.
  useModal(ref, (dialog) => dialog.querySelector<HTMLElement>(FIRST_FIELD) ?? cancel.current);
  const { failure, isBusy, run } = useAction(action);
  const isDisabled = action === null || action.isDisabled === true || isBusy;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isDisabled) run();
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
        if (event.key === 'Escape' && isBusy) event.preventDefault();
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) submit(event);
      }}
    >
      <form onSubmit={submit}>
        <div className="top">
          <h2 id={id}>{title}</h2>
          {lead !== undefined && <p className="q">{lead}</p>}
        </div>
        <div className="in">
          {children}
          {failure !== null && (
            <Note signal="bad" icon="failed">
              <span role="alert">{trueText(failure)}</span>
            </Note>
          )}
        </div>
        <div className="bottom">
          {action?.start !== undefined && <span className="start">{action.start}</span>}
          <button ref={cancel} type="button" className="btn" onClick={onClose}>
            {action === null || isBusy ? 'Close' : (action.keep ?? 'Cancel')}
          </button>
          {action !== null && (
            <button
              type="submit"
              className={action.isDanger === true ? 'btn danger' : 'btn primary'}
              aria-disabled={isDisabled}
            >
              {action.label}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}

function useAction(action: DialogAction | null) {
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isRunning = useRef(false);
  const start = async () => {
    // Not the state, which a second press in the same frame would not see yet.
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    setFailure(null);
    try {
      setFailure((await action?.run()) ?? null);
    } catch (error) {
      setFailure((error as Error).message);
    }
    isRunning.current = false;
    setBusy(false);
  };
  return { failure, isBusy, run: () => void start() };
}

/** The price of an action: figures with their labels, three at most. */
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
