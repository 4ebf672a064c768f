import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { parsedUrl } from '../../domain/parsed-url.ts';
import { OWN_PATHS } from '../../domain/paths.ts';
import { parseRoleTable, type RoleTable } from '../../domain/role-table.ts';
import { proxies } from './addresses.ts';

/** The OpenID provider with which people sign in to the dashboard. */
export interface OidcConfig {
  readonly issuer: URL;
  readonly clientId: string;
  /** Undefined for a public client, which has none. */
  readonly clientSecret: string | undefined;
  readonly scopes: string;
  readonly roles: RoleTable;
  /** Whether people sign in with the provider only. */
  readonly only: boolean;
}

/** The variables of the OpenID provider, and of the service's addresses and proxies. */
export const SIGN_IN_VARIABLES = {
  PUBLIC_URL: z
    .string()
    .optional()
    .transform((text, context) => (text === undefined ? null : publicUrl(text, context))),
  REPORT_URL: z
    .string()
    .optional()
    .transform((text, context) =>
      text === undefined ? null : (publicUrl(text, context)?.href.replace(/\/$/, '') ?? null),
    ),
  TRUSTED_PROXIES: z
    .string()
    .optional()
    .transform((text, context) => (text === undefined ? [] : proxies(text, context))),
  OIDC_ISSUER: z
    .string()
    .refine(isIssuer, 'must be an https:// address; http:// is possible for this machine only')
    .transform((text) => new URL(text))
    .optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_SCOPES: z
    .string()
    .refine((text) => text.split(' ').includes('openid'), 'must contain openid')
    .default('openid profile email'),
  OIDC_ROLES: z
    .string()
    .optional()
    .transform((text, context) => (text === undefined ? undefined : roles(text, context))),
};

/** The parsed variables of this file, and OIDC_ONLY. */
interface SignInVariables {
  PUBLIC_URL: URL | null;
  OIDC_ISSUER?: URL | undefined;
  OIDC_CLIENT_ID?: string | undefined;
  OIDC_CLIENT_SECRET?: string | undefined;
  OIDC_SCOPES: string;
  OIDC_ROLES?: RoleTable | undefined;
  OIDC_ONLY: boolean;
}

/** @returns the provider; null if there is none; or the text of a problem */
export function oidcConfig(e: SignInVariables): OidcConfig | string | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_ROLES: table, PUBLIC_URL: address } = e;
  if (issuer === undefined) {
    if (e.OIDC_ONLY) return 'OIDC_ONLY: needs OIDC_ISSUER';
    const lone = [['OIDC_CLIENT_ID', clientId] as const, ['OIDC_ROLES', table] as const].find(([, value]) => value);
    return lone === undefined ? null : `${lone[0]}: needs OIDC_ISSUER`;
  }
  if (clientId === undefined) return 'OIDC_CLIENT_ID: must be given with OIDC_ISSUER';
  if (table === undefined)
    return 'OIDC_ROLES: must be given with OIDC_ISSUER, because without it no person may sign in';
  if (address === null) return 'PUBLIC_URL: must be given with OIDC_ISSUER, which sends people back to it';
  return {
    issuer,
    clientId,
    clientSecret: e.OIDC_CLIENT_SECRET,
    scopes: e.OIDC_SCOPES,
    roles: table,
    only: e.OIDC_ONLY,
  };
}

function publicUrl(text: string, context: z.RefinementCtx): URL | null {
  const url = parsedUrl(text);
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && !/[?#@]/.test(text);
  if (!isPlain || !/^\/([A-Za-z0-9._~-]+\/?)*$/.test(url.pathname)) {
    const message = 'must be an address such as https://jobs.example.com or https://example.com/jobferry';
    context.addIssue({ code: 'custom', message });
    return null;
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  const first = url.pathname.split('/')[1] ?? '';
  if (OWN_PATHS.includes(first)) {
    context.addIssue({ code: 'custom', message: `the path must not begin with /${first}, which Jobferry uses itself` });
  }
  return url;
}

/** Without TLS, everyone between the two could sign in as anyone. */
function isIssuer(text: string): boolean {
  const url = parsedUrl(text);
  if (url === null) return false;
  const { protocol, hostname, search, hash } = url;
  const isHere = hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
  return (protocol === 'https:' || (protocol === 'http:' && isHere)) && search === '' && hash === '';
}

function roles(text: string, context: z.RefinementCtx): RoleTable | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const table = parseRoleTable(value);
  if (typeof table !== 'string') return table;
  context.addIssue({ code: 'custom', message: table });
  return undefined;
}
