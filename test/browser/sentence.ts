import type { Page } from 'playwright-core';
import { waitFor } from '../support/wait-for.ts';

/** Waits until the first line of the screen, which answers its question, is such a sentence. @returns it */
export async function says(page: Page, sentence: RegExp, timeoutMs = 60_000): Promise<string> {
  let said = '';
  const isSaid = async () => {
    said = textOf(await page.locator('h1').innerText({ timeout: timeoutMs }));
    return sentence.test(said);
  };
  await waitFor(isSaid, { timeoutMs }).catch((cause: Error) => {
    throw new Error(`the page does not say ${sentence}, but “${said}”`, { cause });
  });
  return said;
}

/** A text as people read it: any space is a space. */
export const textOf = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
