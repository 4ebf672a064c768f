/** The part of the package that the tests use; it has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

  interface Grant {
    addOIDCScope(scopes: string): void;
    save(): Promise<string>;
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    Grant: new (properties: {
      clientId: string;
      accountId: string;
    }) => Grant;
    callback(): RequestListener;
    interactionFinished(req: IncomingMessage, res: ServerResponse, result: object, options?: object): Promise<void>;
    on(event: string, listener: (...args: unknown[]) => void): this;
  }
}
