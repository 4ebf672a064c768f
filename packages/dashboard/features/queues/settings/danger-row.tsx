import { type ReactNode, useEffect, useState } from 'preact/compat';
import { dropHash } from '../../../base/place.ts';

/** One action of the section: its title and effect, its button, and the dialog that the button opens. */
export function DangerRow({
  id,
  title,
  children,
  action,
  dialog,
}: {
  id: string;
  title: string;
  children: ReactNode;
  action: ReactNode;
  dialog?: ReactNode;
}) {
  return (
    <div className="danger-row" id={id} tabIndex={-1}>
      <div>
        <h3>{title}</h3>
        <p className="q small">{children}</p>
      </div>
      {action}
      {dialog}
    </div>
  );
}

/**
 * Whether a link to the action has led here, such as `#purge`: then its dialog opens at once, as the `…` of the link
 * promises. It does so once: a reload or the back button must not open it again, under keys that are meant for the
 * page.
 */
export function useLinked(id: string): boolean {
  const [isLinked] = useState(() => location.hash === `#${id}`);
  useEffect(() => {
    if (isLinked) dropHash();
  }, [isLinked]);
  return isLinked;
}
