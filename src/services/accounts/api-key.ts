import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Marks the API keys of Jobferry, for people and for secret scanners. */
export const API_KEY_PREFIX = 'jf_';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 40 base62 characters are 238 bits. */
const RANDOM_LENGTH = 40;
const CHECKSUM_LENGTH = 6;

/** Returns a new key: prefix, random characters, checksum. */
export function generateApiKey(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => BASE62[randomInt(BASE62.length)]).join('');
  return API_KEY_PREFIX + random + checksum(random);
}

const FORM = /^jf_[0-9A-Za-z]{38,}$/;

/**
 * Returns false for text with our prefix and a wrong form or checksum, so a mistyped key is refused without a query.
 */
export function isPlausibleApiKey(key: string): boolean {
  if (!key.startsWith(API_KEY_PREFIX)) return true; // BOOTSTRAP_API_KEY may have any form
  if (!FORM.test(key)) return false;
  const random = key.slice(API_KEY_PREFIX.length, -CHECKSUM_LENGTH);
  return checksum(random) === key.slice(-CHECKSUM_LENGTH);
}

/** Number of leading characters of a key that are stored and shown. */
const DESCRIBED_LENGTH = 6;

/** Returns the stored parts of a key: enough to find the key and to tell keys apart, not enough to use it. */
export function describeApiKey(key: string, { hasLimits = false } = {}) {
  const hash = hashApiKey(key);
  const stored = hasLimits ? hashWithLimits(hash) : hash;
  return { hash: stored, prefix: key.slice(0, DESCRIBED_LENGTH), lastFour: key.slice(-4) };
}

export function hashApiKey(key: string): string {
  return hash('sha256', key);
}

/**
 * Returns the stored hash of a key with limits, from its usual one. Processes that do not know limits look for the
 * usual hash only. So they refuse such a key, instead of letting it do everything.
 */
export function hashWithLimits(usual: string): string {
  return hash('sha256', `key with limits ${usual}`);
}

function checksum(random: string): string {
  let rest = crc32(random);
  let text = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i += 1) {
    text = BASE62[rest % BASE62.length] + text;
    rest = Math.floor(rest / BASE62.length);
  }
  return text;
}
