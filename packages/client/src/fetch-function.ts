/** The part of `fetch` that this package uses, so that a wrapper around it is short. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
