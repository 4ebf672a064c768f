import { type ReactNode, useId } from 'react';
import { CopyButton } from './copy.tsx';
import { Icon } from './icon.tsx';

/** A secret that no later page shows, until the person has closed it. @param said for screen readers, when it appears */
export function ShownOnce({
  className,
  title,
  said,
  onClose,
  children,
}: {
  className?: string;
  title: ReactNode;
  said?: string;
  onClose: () => void;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <section className={`panel ${className ?? ''}`.trim()} aria-labelledby={id}>
      <header>
        <Icon name="done" className="ok toned" />
        <h2 id={id}>{title}</h2>
        <span className="end">
          <button type="button" className="btn quiet icon tiny" aria-label="I have copied it: close" onClick={onClose}>
            <Icon name="x" />
          </button>
        </span>
      </header>
      {said !== undefined && (
        <p className="sr" role="status">
          {said}
        </p>
      )}
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
