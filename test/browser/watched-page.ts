import type { BrowserContext, Page } from 'playwright-core';

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

  /** What the page should not have done so far. */
  complaints(): string[] {
    return this.#complaints.filter((complaint) => !this.#announced.some((pattern) => pattern.test(complaint)));
  }

  /** Every request so far, as `POST /graphql`. */
  get requests(): readonly string[] {
    return this.#requests;
  }

  /** Closes the page with all that it opened, and fails if there is a complaint. */
  async close(): Promise<void> {
    await this.#context.close();
    const complaints = this.complaints();
    if (complaints.length > 0) throw new Error(`The page should not have done this:\n${complaints.join('\n')}`);
  }

  #listen(): void {
    const complain = (text: string) => this.#complaints.push(text);
    // Of the context, so that windows which the page opens are watched as well.
    this.#context.on('request', (request) => {
      const url = new URL(request.url());
      if (url.origin === this.#origin) this.#requests.push(`${request.method()} ${url.pathname}${url.search}`);
      // `data:` and `blob:` leave nothing; the policy decides on them.
      else if (url.origin !== 'null') complain(`request to another origin: ${request.method()} ${request.url()}`);
    });
    this.#context.on('requestfailed', (request) => {
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
