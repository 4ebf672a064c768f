/** As much of `fetch` as is used, so that a wrapper around it is a line. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
