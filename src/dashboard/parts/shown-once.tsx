import { type ReactNode, useEffect, useId, useRef } from 'preact/compat';
import { CopyButton } from './copy.tsx';
import { Icon } from './icon.tsx';

/** A secret that no later page shows, until the person has closed it. Its title gets the focus, so screen readers say it. */
export function ShownOnce({
  title,
  onClose,
  children,
}: {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
}) {
  const id = useId();
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
    </section>
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
