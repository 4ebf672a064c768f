import { type RefObject, useLayoutEffect } from 'preact/compat';

/**
 * Opens a dialog over the page while the component is mounted, and gives the focus back to where it was. `first` gets
 * the focus, in place of the browser's choice.
 */
export function useModal(
  ref: RefObject<HTMLDialogElement>,
  first: (dialog: HTMLDialogElement) => HTMLElement | null = () => null,
): void {
  // Before the next key, which is the dialog's.
  useLayoutEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    if (dialog !== null) first(dialog)?.focus();
    return () => {
      dialog?.close();
      // The browser returns focus only if the dialog is closed before it is removed.
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
}
