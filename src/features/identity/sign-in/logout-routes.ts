import type { PublicAnswer, PublicRoutes, StreamedRequest } from '../../../api/pipeline/public-routes.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import type { KeySets } from '../keys/key-sets.ts';
import { keysOfProvider } from '../keys/provider-keys.ts';
import { endSignIns, noteLogoutToken } from '../sign-ins.ts';
import { claimedParties, LogoutRefused, type LogoutToken, verifyLogoutToken } from './logout-token.ts';
import { readProvidersOfClient } from './sign-in-providers.ts';
import { readSmallBody, SMALL_BODY_BYTES } from './small-body.ts';

export interface LogoutRoutesOptions extends Pick<NodeParts, 'database' | 'log'> {
  readonly keys: KeySets;
}

/** Returns the routes of logouts by providers (OpenID Connect Back-Channel Logout 1.0). */
export function logoutRoutes(options: LogoutRoutesOptions): PublicRoutes {
  return {
    '/v1/auth/backchannel-logout': {
      limited: {
        async post(request) {
          try {
            await logOut(options, await readForm(request));
            return answer(200, null);
          } catch (error) {
            if (!(error instanceof LogoutRefused)) throw error;
            options.log.info({ err: error }, 'a logout token was refused');
            return answer(400, { error: 'invalid_request', error_description: error.message });
          }
        },
      },
    },
  };
}

/**
 * Ends sessions in the accounts whose keys verify the token: several accounts may trust one issuer,
 * each with its own keys. They are checked in parallel: unreadable keys stop no other account.
 * Throws ApiError `service_unavailable` if none accepts the token and the keys of one cannot be
 * read, and otherwise LogoutRefused.
 */
async function logOut({ database, keys, log }: LogoutRoutesOptions, token: string): Promise<void> {
  const { issuer, clientIds } = claimedParties(token);
  const providers = await readProvidersOfClient(database, issuer, clientIds);
  const outcomes = await Promise.allSettled(
    providers.map(async (provider) => {
      const target = await verifyLogoutToken(token, provider, keysOfProvider(keys, provider));
      const sessions = await database.transaction((tx) => end(tx, provider.id, target));
      log.info({ provider_id: provider.id, sessions }, 'an identity provider ended sessions');
    }),
  );
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  const failures = reasons.filter((reason) => !(reason instanceof LogoutRefused));
  for (const err of failures) log.warn({ err }, 'an identity provider could not end its sessions');
  if (outcomes.some(({ status }) => status === 'fulfilled')) return;
  throw failures[0] ?? reasons.at(-1) ?? new LogoutRefused('There is no such client of this issuer.');
}

async function end(tx: Tx, providerId: string, { jti, ...target }: LogoutToken): Promise<number> {
  if (!(await noteLogoutToken(tx, providerId, jti))) {
    throw new LogoutRefused('This logout token was used before.');
  }
  return endSignIns(tx, providerId, target);
}

async function readForm(request: StreamedRequest): Promise<string> {
  if (!FORM_TYPE.test(request.contentType ?? '')) {
    throw new LogoutRefused('Send the Content-Type application/x-www-form-urlencoded.');
  }
  const text = await readSmallBody(request);
  if (text === undefined) throw new LogoutRefused(`Send at most ${SMALL_BODY_BYTES} bytes.`);
  const [token, ...others] = new URLSearchParams(text).getAll('logout_token');
  if (token === undefined || others.length > 0) throw new LogoutRefused('Send one logout_token.');
  return token;
}

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

function answer(status: number, body: object | null): PublicAnswer {
  return {
    status,
    body: body === null ? '' : JSON.stringify(body),
    headers: { 'Cache-Control': 'no-store' },
  };
}
