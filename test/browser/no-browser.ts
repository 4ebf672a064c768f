/** A Chromium of this machine, to take the place of that of the package. */
export const INSTALLED = process.env.CHROMIUM_PATH || null;

/** Why no test can drive a browser here; null when there is one. */
export const NO_BROWSER: string | null =
  INSTALLED !== null || (process.platform === 'linux' && process.arch === 'x64')
    ? null
    : `no Chromium comes with the packages for ${process.platform} ${process.arch}: set CHROMIUM_PATH to an installed one`;
