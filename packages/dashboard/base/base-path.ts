/** The path below which the server serves the dashboard, without a slash at its end: empty, or such as `/jobferry`. */
export const basePath = new URL(document.baseURI).pathname.replace(/\/$/, '');

/** The address of this page below the base path, to come back to: `/queues/orders/edit#purge`. */
export function presentPath(): string {
  const path = location.pathname.startsWith(basePath) ? location.pathname.slice(basePath.length) : location.pathname;
  return `${path === '' ? '/' : path}${location.search}${location.hash}`;
}
