import type { BrowserContext, Page, Request } from 'playwright-core';
import { waitFor } from '../support/wait-for.ts';

/** Moments without a request until a page counts as at rest. */
const QUIET_TURNS = 3;
/**
 * On a slow machine a read takes longer than the service lets it, which answers 503, and the page asks again. If the
 * answer never comes, the test fails all the same.
 */
const ASKED_AGAIN = /^answer 503: POST \S+\/graphql$|^console error: .*the server responded with a status of 503/;

/**
 * A page that is watched: what a person would find in its console, and every request that leaves its origin, is a
 * complaint, and a test with a complaint fails. A test that provokes a failure announces it first.
 */
export class WatchedPage {
  readonly page: Page;
  readonly #context: BrowserContext;
  readonly #origin: string;
  readonly #announced: RegExp[] = [];
  readonly #complaints: string[] = [];
  readonly #requests: string[] = [];
  readonly #running = new Set<Request>();

  constructor(page: Page, origin: string) {
    this.page = page;
    this.#context = page.context();
    this.#origin = origin;
    this.#listen();
  }

  /** From now on, complaints that match are expected. */
  announce(...patterns: RegExp[]): void {
    this.#announced.push(...patterns);
  }

  /** The page's faults so far. */
  complaints(): string[] {
    const expected = [ASKED_AGAIN, ...this.#announced];
    return this.#complaints.filter((complaint) => !expected.some((pattern) => pattern.test(complaint)));
  }

  /** Every request so far, as `POST /graphql`. */
  get requests(): readonly string[] {
    return this.#requests;
  }

  /**
   * Resolves when the page has asked for all that it shows: no request is under way but the live stream.
   * @param quietTurns fewer for a page that was at rest before, and is only shown differently
   */
  async atRest(quietTurns = QUIET_TURNS): Promise<void> {
    const isQuiet = () => [...this.#running].every((request) => request.headers().accept === 'text/event-stream');
    // A screen asks in turns: the answer of one request leads to the next.
    for (let turns = 0; turns < quietTurns; turns += 1) {
      await waitFor(isQuiet, { message: `the end of ${[...this.#running].map((request) => request.url())}` });
      await this.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 20))));
      if (!isQuiet()) turns = -1;
    }
  }

  /** Closes the page with all that it opened, and fails if there is a complaint. */
  async close(): Promise<void> {
    await this.#context.close();
    const complaints = this.complaints();
    if (complaints.length > 0) throw new Error(`The page should not have done this:\n${complaints.join('\n')}`);
  }

  #listen(): void {
    const complain = (text: string) => this.#complaints.push(text);
    // The context is watched, so that windows which the page opens are included.
    this.#context.on('request', (request) => {
      this.#running.add(request);
      const url = new URL(request.url());
      if (url.origin === this.#origin) this.#requests.push(`${request.method()} ${url.pathname}${url.search}`);
      // `data:` and `blob:` leave nothing; the policy decides on them.
      else if (url.origin !== 'null') complain(`request to another origin: ${request.method()} ${request.url()}`);
    });
    this.#context.on('requestfinished', (request) => this.#running.delete(request));
    this.#context.on('requestfailed', (request) => {
      this.#running.delete(request);
      const reason = request.failure()?.errorText ?? 'unknown';
      // The page itself ended the request: it has left a screen, or closed its stream.
      if (reason !== 'net::ERR_ABORTED') complain(`request failed: ${request.method()} ${request.url()} ${reason}`);
    });
    this.#context.on('response', (response) => {
      if (response.status() < 400) return;
      complain(`answer ${response.status()}: ${response.request().method()} ${response.url()}`);
    });
    this.#context.on('console', (message) => {
      const { url, lineNumber } = message.location();
      if (!['error', 'warning', 'assert'].includes(message.type())) return;
      complain(`console ${message.type()}: ${message.text()} (${url}:${lineNumber})`);
    });
    this.#context.on('weberror', (error) => {
      const thrown = error.error();
      complain(`uncaught exception: ${thrown.stack ?? thrown.message}`);
    });
  }
}

/** Runs in each page before its own scripts: a policy that only reports shows nothing in the console otherwise. */
export function reportPolicyViolations(): void {
  addEventListener('securitypolicyviolation', (event) => {
    console.error(`Content-Security-Policy: ${event.violatedDirective} blocked ${event.blockedURI} ${event.sample}`);
  });
}
