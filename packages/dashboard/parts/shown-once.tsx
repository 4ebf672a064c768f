import { type ReactNode, useEffect, useRef, useState } from 'preact/compat';
import { useLeaveGuard } from '../base/leave.ts';
import { useUniqueId } from '../base/use-unique-id.ts';
import { CopyButton } from './copy.tsx';
import { Dialog } from './dialog.tsx';
import { Icon } from './icon.tsx';

/**
 * A secret that no later page shows, until the person has closed it. Its title gets the focus, so screen readers say
 * it. Before the page is left it asks, unless nothing is lost with it.
 */
export function ShownOnce({
  title,
  lost,
  onClose,
  children,
}: {
  title: ReactNode;
  /** Null if the secret is not needed. */
  lost: Lost | null;
  onClose: () => void;
  children: ReactNode;
}) {
  const id = useUniqueId();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section className="panel shown-once" aria-labelledby={id}>
      <header>
        <Icon name="done" className="ok toned" />
        <h2 id={id} ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <span className="end">
          <button type="button" className="btn quiet icon tiny" aria-label="I have copied it: close" onClick={onClose}>
            <Icon name="x" />
          </button>
        </span>
      </header>
      <div className="in">{children}</div>
      {lost !== null && <AskBeforeLoss {...lost} />}
    </section>
  );
}

interface Lost {
  /** "the new secret of orders" */
  what: string;
  /** The price of its loss, as a clause: "the queue needs another rotation". */
  without: string;
}

/** While it is in the page, leaving asks whether the secret has been copied. */
export function AskBeforeLoss({ what, without }: Lost) {
  const [go, setGo] = useState<(() => void) | null>(null);
  useLeaveGuard(true, (leave) => setGo(() => leave));
  if (go === null) return null;
  return (
    <Dialog
      title={`Have you copied ${what}?`}
      lead={`It cannot be shown again. Without it, ${without}.`}
      action={{
        label: 'Leave',
        isDanger: true,
        run: () => {
          setGo(null);
          go();
        },
      }}
      onClose={() => setGo(null)}
    />
  );
}

/** A text to copy. @param what names it for screen readers */
export function ToCopy({ text, what }: { text: string; what: string }) {
  return (
    <div className="term">
      {text}
      <CopyButton text={text} what={what} />
    </div>
  );
}
