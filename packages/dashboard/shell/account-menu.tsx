import type { MouseEvent } from 'preact/compat';
import { Link } from 'wouter-preact';
import { wordOfRole } from '../../query/words/rights.ts';
import { useShell } from '../api/server.ts';
import { useUniqueId } from '../base/use-unique-id.ts';
import { Icon } from '../parts/icon.tsx';
import { signOut } from '../parts/page/sign-out.ts';

/** The signed-in person, and the way out. On a phone it is an icon. */
export function AccountMenu({ isIcon = false }: { isIcon?: boolean }) {
  const id = useUniqueId();
  const me = useShell()?.me;
  const hide = ({ currentTarget }: MouseEvent<HTMLElement>) =>
    currentTarget.closest<HTMLElement>('.menu')?.hidePopover();
  return (
    <>
      <button
        type="button"
        className={isIcon ? 'btn quiet icon' : 'account'}
        popoverTarget={id}
        aria-label={`Account: ${me?.label ?? ''}`}
      >
        <Icon name="user" />
        {!isIcon && <span className="mono cut">{me?.label}</span>}
      </button>
      <div id={id} popover="auto" className="menu account-menu">
        {me !== undefined && (
          <p>
            <b className="cut">{me.person?.name ?? me.label}</b>
            <span className="small q">
              {wordOfRole(me.role)} of {me.account.name}
              {!me.mayViewPayloads && ', without payloads'}
            </span>
          </p>
        )}
        <Link href="/settings/sessions" onClick={hide}>
          <Icon name="key" />
          Sessions
        </Link>
        <Link href="/settings" onClick={hide}>
          <Icon name="settings" />
          Settings
        </Link>
        <button
          type="button"
          onClick={(event) => {
            hide(event);
            signOut();
          }}
        >
          <Icon name="x" />
          Sign out
        </button>
      </div>
    </>
  );
}
