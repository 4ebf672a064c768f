import { useLayoutEffect, useRef } from 'preact/compat';
import { type Mutation, may } from '../../../query/words/rights.ts';
import type { IconName } from '../../../query/words/words.ts';
import { useRights } from '../../api/rights.ts';
import { preferences } from '../../base/preferences.ts';
import { createStore } from '../../base/store.ts';

/** An action on a screen, by a key, in the palette, or both. */
export interface Command {
  /** Names the mutation: "Run now". It is in the help, and in the palette unless `isOnlyKey`. */
  label: string;
  run: () => void;
  /** One character, a name of `KeyboardEvent.key`, or two characters in sequence: `r`, `Escape`, `g j`. */
  key?: string;
  icon?: IconName;
  /** Moves and the like, which make no sense in the palette. */
  isOnlyKey?: boolean;
  /** The mutation behind it. People who may not call it are not offered the command. */
  mutation?: Mutation;
}

/** The commands of all mounted parts; those of the part that was mounted last win. */
const commands = createStore<readonly (readonly Command[])[]>([]);

/**
 * Registers commands while the component is mounted, from the moment in which the page shows it: Preact runs effects up
 * to a tenth of a second later. The functions may change with each render; the list of keys and labels is what counts.
 */
export function useCommands(list: readonly Command[]): void {
  const rights = useRights();
  const offered = list.filter(({ mutation }) => mutation === undefined || may(rights, mutation));
  const latest = useRef(offered);
  // Before the next key: it does what the page says now.
  useLayoutEffect(() => {
    latest.current = offered;
  });
  const content = JSON.stringify(offered.map(({ label, key, icon, isOnlyKey }) => ({ label, key, icon, isOnlyKey })));
  useLayoutEffect(() => {
    const registered = (JSON.parse(content) as Omit<Command, 'run'>[]).map((command, index) => ({
      ...command,
      run: () => latest.current[index]?.run(),
    }));
    commands.set([...commands.get(), registered]);
    return () => commands.set(commands.get().filter((other) => other !== registered));
  }, [content]);
}

/** Every command that has an effect now, innermost part first, each key once. */
export function activeCommands(): Command[] {
  const taken = new Set<string>();
  return [...commands.get()]
    .reverse()
    .flat()
    .filter(({ key }) => key === undefined || (!taken.has(key) && taken.add(key)));
}

/** Time for the second key of a sequence. */
const SEQUENCE_MS = 1200;

const WALKING: ReadonlySet<string> = new Set(['j', 'k', '[', ']']);

/** Called once. */
export function listenForKeys(): () => void {
  let prefix = '';
  let prefixAt = 0;
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    // A key that is held down walks on, but does nothing else twice.
    if (event.repeat && !WALKING.has(event.key)) return;
    if (!preferences.get().singleKeys && event.key.length === 1) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
    // The browser closes a popover with it.
    if (event.key === 'Escape' && document.querySelector(':popover-open') !== null) return;
    const isSequence = prefix !== '' && event.timeStamp - prefixAt < SEQUENCE_MS;
    const pressed = event.key === ' ' ? 'Space' : event.key;
    const wanted = isSequence ? `${prefix} ${pressed}` : pressed;
    prefix = '';
    const active = activeCommands();
    const command = active.find(({ key }) => key === wanted);
    if (command !== undefined) {
      if (isUsedBy(event.target, pressed)) return;
      event.preventDefault();
      command.run();
    } else if (active.some(({ key }) => key?.startsWith(`${wanted} `))) {
      prefix = wanted;
      prefixAt = event.timeStamp;
    }
  };
  addEventListener('keydown', onKey);
  return () => removeEventListener('keydown', onKey);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button'].includes(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/** Enter follows a link and presses a button; Space presses a button or ticks a box. */
function isUsedBy(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement) || (key !== 'Enter' && key !== 'Space')) return false;
  return target.closest(key === 'Enter' ? 'a[href], button, input, summary' : 'button, input, summary') !== null;
}

/** ⌘ on Apple's keyboards, Ctrl elsewhere. */
export const COMMAND_KEY = /Mac|iP(hone|ad|od)/.test(navigator.platform) ? '⌘' : 'Ctrl ';
