import type { ReactNode } from 'preact/compat';
import type { IconName, Signal } from '../../query/words/words.ts';
import { Icon } from './icon.tsx';

/** A bar of one sentence, with at most one button at its end. */
export function Note({
  signal = 'idle',
  icon = 'info',
  children,
  action,
}: {
  signal?: Signal;
  icon?: IconName;
  children: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className={`note ${signal}`}>
      <Icon name={icon} />
      <p>{children}</p>
      {action}
    </div>
  );
}
