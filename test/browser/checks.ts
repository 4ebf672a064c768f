import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** Checks that must hold on every screen. */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** WCAG 2.2 AA, which includes its earlier versions and level A. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa'];

/** @returns the violations that axe finds, each with the elements; empty when there is none */
export async function axeViolations(
  page: Page,
  options: { except?: string[]; only?: string[] } = {},
): Promise<string[]> {
  // Evaluated by the debugger, so the page's own policy stays in force.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  const { violations } = await page.evaluate(
    async ({ values, except = [], only }) => {
      const rules = Object.fromEntries(except.map((rule) => [rule, { enabled: false }]));
      const runOnly = only === undefined ? { type: 'tag', values } : { type: 'rule', values: only };
      const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } };
      return axe.run({ runOnly, rules, resultTypes: ['violations'] });
    },
    { values: TAGS, ...options },
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target.join(' ')}: ${failureSummary ?? ''}`),
  );
}

/** @returns the elements that make the page scroll sideways, as CSS-like paths; empty when it does not */
export function widerThanWindow(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const name = (element: Element) => `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''}`;
    const wide = [...document.body.querySelectorAll('*')].filter((element) => {
      const { right, width } = element.getBoundingClientRect();
      return width > 0 && right > clientWidth + 1;
    });
    return [`the page is ${scrollWidth} px wide, the window ${clientWidth}`, ...wide.slice(-8).map(name)];
  });
}

/** @returns controls that are smaller than 24 × 24 px and not part of a text (WCAG 2.5.8) */
export function smallTargets(page: Page, least = 24): Promise<string[]> {
  return page.evaluate((px) => {
    const controls = document.querySelectorAll<HTMLElement>('button, [role=button], input:not([type=hidden]), select');
    return [...controls].flatMap((control) => {
      if (!control.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return [];
      const own = control.closest('label') ?? control;
      const { width, height } = own.getBoundingClientRect();
      if (width === 0 || height === 0 || (width >= px && height >= px)) return [];
      return [`${control.outerHTML.slice(0, 120)} is ${Math.round(width)} × ${Math.round(height)} px`];
    });
  }, least);
}

/** The element with the focus, as assistive software names it, and whether one can see that it has the focus. */
export interface Focused {
  role: string;
  name: string;
  isVisible: boolean;
}

export function focused(page: Page): Promise<Focused> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement) || element === document.body) return { role: '', name: '', isVisible: false };
    const labelled = (element.getAttribute('aria-labelledby') ?? '').split(' ').filter((id) => id !== '');
    const name =
      element.getAttribute('aria-label') ??
      (labelled.length > 0 ? labelled.map((id) => document.getElementById(id)?.textContent).join(' ') : null) ??
      (element instanceof HTMLInputElement ? (element.labels?.[0]?.textContent ?? element.placeholder) : null) ??
      element.textContent ??
      '';
    // An input may leave it to the box around it, and the link of a row to the row.
    const boxes = [element, element.parentElement, element.parentElement?.parentElement].filter((box) => box != null);
    const styles = [...boxes.map((box) => getComputedStyle(box)), getComputedStyle(element, '::after')];
    const hasOutline = styles.some(
      ({ outlineStyle, outlineWidth }) => outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2,
    );
    const { top, bottom, left, right, width } = element.getBoundingClientRect();
    const middle = [(left + right) / 2, (top + bottom) / 2] as const;
    const onTop = document.elementFromPoint(...middle);
    return {
      role: element.getAttribute('role') ?? element.tagName.toLowerCase(),
      name: name.replaceAll(/\s+/g, ' ').trim(),
      isVisible: width > 0 && hasOutline && (onTop === null || element.contains(onTop) || onTop.contains(element)),
    };
  });
}

/** Presses Tab until the element with such a name has the focus; every stop on the way must show that it has it. */
export async function tabTo(page: Page, name: RegExp, most = 60): Promise<Focused> {
  const stops: Focused[] = [];
  for (let n = 0; n < most; n += 1) {
    await page.keyboard.press('Tab');
    const stop = await focused(page);
    stops.push(stop);
    if (stop.name !== '' && !stop.isVisible) throw new Error(`the focus cannot be seen on ${stop.role} “${stop.name}”`);
    if (name.test(stop.name)) return stop;
  }
  throw new Error(`Tab does not lead to ${name}, but to ${stops.map((stop) => `“${stop.name}”`).join(', ')}`);
}

/**
 * @returns where a page keeps a text: its document, what is typed into it, its address, or the storage of the browser
 */
export async function placesOf(page: Page, text: string): Promise<string[]> {
  const places = await page.evaluate(() => ({
    document: document.documentElement.outerHTML,
    fields: [...document.querySelectorAll<HTMLInputElement>('input, textarea')].map(({ value }) => value).join('\n'),
    address: location.href,
    history: JSON.stringify(history.state) ?? '',
    storage: JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
  }));
  return Object.entries(places).flatMap(([place, content]) => (content.includes(text) ? [place] : []));
}
