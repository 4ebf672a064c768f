import { useLayoutEffect, useState } from 'preact/compat';
import type { IconName, Signal } from '../../query/words/words.ts';
import { trueText } from '../api/errors.ts';
import { createStore, useStore } from '../base/store.ts';
import { Icon } from './icon.tsx';
import { useCommands } from './page/keys.ts';

/** The outcome of my own action. One at a time; an error stays until it is closed. */
export interface Toast {
  text: string;
  signal?: Signal;
  icon?: IconName;
  action?: { label: string; run: () => void; key?: string };
}

const current = createStore<(Toast & { number: number }) | null>(null);
let number = 0;

export function toast(shown: Toast): void {
  number += 1;
  current.set({ ...shown, number });
}

/** Takes away the message with this text, if it is still shown: what it says is no longer so. */
export function endToast(text: string): void {
  if (current.get()?.text === text) current.set(null);
}

/** For "Not …: …" of a refusal. */
export function toastFailure(text: string): void {
  toast({ text: trueText(text), signal: 'bad', icon: 'failed' });
}

const SHOWN_MS = 5000;
/** Time to undo. */
const SHOWN_WITH_ACTION_MS = 8000;

export function Toasts() {
  const shown = useStore(current);
  return (
    <div className="toasts" role="status">
      {shown !== null && <ToastBox key={shown.number} shown={shown} />}
    </div>
  );
}

function ToastBox({ shown: { text, signal = 'ok', icon = 'done', action } }: { shown: Toast }) {
  const run = () => {
    current.set(null);
    action?.run();
  };
  const [isPointed, setPointed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  // It stays as long as it is read: it goes some time after pointer and focus have left it.
  const reading = {
    onPointerEnter: () => setPointed(true),
    onPointerLeave: () => setPointed(false),
    onFocus: () => setFocused(true),
    onBlur: () => setFocused(false),
  };
  const stays = signal === 'bad' || isPointed || isFocused;
  // At once: a pointer may come in the last moment.
  useLayoutEffect(() => {
    if (stays) return;
    const timer = setTimeout(() => current.set(null), action === undefined ? SHOWN_MS : SHOWN_WITH_ACTION_MS);
    return () => clearTimeout(timer);
  }, [stays, action]);
  useCommands(action?.key === undefined ? [] : [{ key: action.key, label: action.label, run }]);
  return (
    <div className={`toast ${signal}`} {...reading}>
      <Icon name={icon} className="toned" />
      <span>{text}</span>
      {action !== undefined && (
        <button type="button" className="btn quiet tiny" onClick={run}>
          {action.label}
          {action.key !== undefined && <kbd>{action.key}</kbd>}
        </button>
      )}
      {signal === 'bad' && (
        <button type="button" className="btn quiet icon tiny" aria-label="Close" onClick={() => current.set(null)}>
          <Icon name="x" />
        </button>
      )}
    </div>
  );
}
